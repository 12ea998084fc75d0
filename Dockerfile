# The command hone with its compiler, without Python packages for exporting (docs/install.md).
FROM debian:12 AS build
WORKDIR /hone
COPY . .
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates python3 python3-venv
RUN tools/build-wheel.sh

FROM python:3.12-slim
COPY --from=build /hone/build/wheel/hone-*.whl /tmp/
RUN pip install --no-cache-dir /tmp/hone-*.whl && rm /tmp/hone-*.whl
WORKDIR /work
ENTRYPOINT ["hone"]
CMD ["--help"]
