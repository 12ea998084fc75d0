"""The version of the front end."""

VERSION = "0.1.0"
