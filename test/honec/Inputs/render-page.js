// Prints what the page of a report would show as XML: node render-page.js INDEX.html [WIDTH]
'use strict';

const fs = require('fs');
const zlib = require('zlib');

const page = fs.readFileSync(process.argv[2], 'utf8');
const script = id => page.split(` id="${id}">`)[1].split('</script>')[0];
const width = Number(process.argv[3] || 1000);
const { render, drawCharts, showIr } =
  new Function(`${script('program')}; return { render, drawCharts, showIr };`)();
const data = JSON.parse(zlib.inflateSync(Buffer.from(script('data'), 'base64')));
const charts = Object.entries(drawCharts(data, width)).map(([id, chart]) => `<chart id="${id}">${chart}</chart>`);
const texts = Object.keys(data.ir || {}).map(phase => `<ir id="${phase}">${showIr(data, phase)}</ir>`);
console.log(`<page>${render(data)}${charts.join('')}${texts.join('')}</page>`);
