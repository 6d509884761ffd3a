'use strict';
const buffer = text => Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer;
const time = new Uint32Array(buffer(D.time)), omega = new Uint16Array(buffer(D.omega));
const gap = new Uint16Array(buffer(D.gap)), kind = new Uint16Array(buffer(D.kind));
const last = new Uint16Array(buffer(D.last));
const nanoseconds = code => code === 0 ? 0 : 2 ** ((code - 1) / 1024);
const seconds = i => time[i] * D.unit;
const count = time.length, begin = 0, end = count > 1 ? seconds(count - 1) : 1;
const canvas = document.getElementById('timeline'), tip = document.getElementById('tip');
const pen = canvas.getContext('2d');
const hidden = new Set();
let from = begin, to = Math.max(end, 1e-9), width = 0, height = 0, heat = null, calls = null;
const left = 66, right = 36, top_ = 10, upper = 260, between = 34;
const row = Math.max(1, Math.min(16, 360 / D.ranks));
const lower = Math.ceil(row * D.ranks), heatTop = top_ + upper + between;
const colour = p => Math.min(p, 8);
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function text(ns) {
  if (!(ns > 0)) return '0 s';
  const units = [['ns', 1], ['µs', 1e3], ['ms', 1e6], ['s', 1e9]];
  let u = units[0];
  for (const one of units) if (ns >= one[1] * 0.9995) u = one;
  return Number((ns / u[1]).toPrecision(4)) + ' ' + u[0];
}

let lowest = 1e9, highest = 1;
for (let i = 0; i < count; ++i) {
  const v = nanoseconds(omega[i]);
  if (v > 0 && v < lowest) lowest = v;
  if (v > highest) highest = v;
}
const lowLog = Math.floor(Math.log10(Math.max(10, Math.min(lowest, highest / 10))));
const highLog = Math.max(lowLog + 1, Math.ceil(Math.log10(highest * 1.05)));
const xOf = t => left + (t - from) / (to - from) * (width - left - right);
const tOf = x => from + (x - left) / (width - left - right) * (to - from);
const yOf = ns => ns <= 0 ? top_ + upper - 2 : Math.min(top_ + upper - 8, top_ + (upper - 8) *
  (1 - (Math.log10(ns) - lowLog) / (highLog - lowLog)));

function firstAt(t) {
  let low = 0, high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (seconds(middle) < t) low = middle + 1; else high = middle;
  }
  return low;
}

function axes() {
  pen.font = '11px system-ui, sans-serif';
  pen.fillStyle = css('--dim');
  pen.strokeStyle = css('--grid');
  pen.textAlign = 'right';
  pen.textBaseline = 'middle';
  for (let e = lowLog; e <= highLog; ++e) {
    const y = Math.round(yOf(10 ** e)) + 0.5;
    pen.beginPath(); pen.moveTo(left, y); pen.lineTo(width - right, y); pen.stroke();
    pen.fillText(text(10 ** e), left - 8, y);
  }
  pen.textAlign = 'center';
  pen.textBaseline = 'top';
  const rough = (to - from) / Math.max(2, (width - left) / 120);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= rough);
  const unit = to >= 1 ? ['s', 1] : to >= 1e-3 ? ['ms', 1e-3] : ['µs', 1e-6];
  const digits = Math.max(0, -Math.floor(Math.log10(step / unit[1] * 1.0001)));
  for (let k = Math.ceil(from / step); k * step <= to; ++k) {
    const x = Math.round(xOf(k * step)) + 0.5;
    pen.beginPath(); pen.moveTo(x, top_); pen.lineTo(x, top_ + upper);
    pen.moveTo(x, heatTop); pen.lineTo(x, heatTop + lower); pen.stroke();
    pen.fillText((k * step / unit[1]).toFixed(digits) + ' ' + unit[0], x, top_ + upper + 6);
  }
  pen.textAlign = 'right';
  pen.textBaseline = 'middle';
  const every = Math.ceil(12 / row);
  for (let r = 0; r < D.ranks; r += every) {
    pen.fillText('rank ' + r, left - 8, heatTop + (r + 0.5) * row);
  }
}

function draw() {
  const scale = window.devicePixelRatio || 1;
  width = canvas.clientWidth;
  height = heatTop + lower + 8;
  canvas.style.height = height + 'px';
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  axes();
  const a = Math.max(0, firstAt(from) - 1), b = Math.min(count, firstAt(to) + 1);
  const columns = Math.max(1, Math.floor(width - left - right));
  heat = new Float32Array(columns * D.ranks);
  calls = new Uint32Array(columns * D.ranks);
  const seen = new Uint8Array(columns * (upper + 1));
  const size = b - a > 20000 ? 1.5 : b - a > 2000 ? 2 : 3;
  const cells = Array.from({length: 9}, () => []);
  for (let i = a; i < b; ++i) {
    const place = D.kinds[kind[i]].place;
    if (hidden.has(colour(place))) continue;
    const column = Math.floor(xOf(seconds(i)) - left);
    if (column < 0 || column >= columns) continue;
    if (last[i] !== 65535) {
      heat[column * D.ranks + last[i]] += nanoseconds(gap[i]);
      ++calls[column * D.ranks + last[i]];
    }
    const y = Math.round(yOf(nanoseconds(omega[i])));
    const cell = column * (upper + 1) + Math.max(0, y - top_);
    const bit = 1 + colour(place);
    if (seen[cell] === bit) continue;
    seen[cell] = bit;
    cells[colour(place)].push(column, y);
  }
  for (let c = 8; c >= 0; --c) {
    pen.fillStyle = css('--c' + c);
    const of = cells[c];
    for (let k = 0; k < of.length; k += 2) {
      pen.fillRect(left + of[k] - size / 2 + 0.5, of[k + 1] - size / 2, size, size);
    }
  }
  const whole = (to - from) / columns * 1e9;
  const tint = css('--heat');
  for (let c = 0; c < columns; ++c) {
    for (let r = 0; r < D.ranks; ++r) {
      const h = heat[c * D.ranks + r];
      if (h <= 0) continue;
      pen.fillStyle = 'rgba(' + tint + ',' + Math.min(1, 0.06 + Math.sqrt(h / whole)) + ')';
      pen.fillRect(left + c, heatTop + r * row, b - a > 5000 ? 1.05 : 2.5,
        Math.max(1, row - (row > 5 ? 1 : 0)));
    }
  }
}

function show(x, y) {
  let words = '';
  if (y <= top_ + upper + 4) {
    let best = -1, least = 144;
    const a = firstAt(tOf(x - 12)), b = firstAt(tOf(x + 12));
    for (let i = a; i < b; ++i) {
      if (hidden.has(colour(D.kinds[kind[i]].place))) continue;
      const dx = xOf(seconds(i)) - x, dy = yOf(nanoseconds(omega[i])) - y;
      if (dx * dx + dy * dy < least) { least = dx * dx + dy * dy; best = i; }
    }
    if (best >= 0) {
      const k = D.kinds[kind[best]];
      words = D.places[k.place] + '\n' + k.call + '\n' + 'Ω = ' + text(nanoseconds(omega[best])) +
        ', ' + text(seconds(best) * 1e9) + ' after the first call' + (last[best] === 65535 ? '' :
        '\nrank ' + last[best] + ' came last, by ' + text(nanoseconds(gap[best])));
    }
  } else if (y >= heatTop && y < heatTop + lower && heat) {
    const r = Math.min(D.ranks - 1, Math.floor((y - heatTop) / row));
    const c = Math.floor(x - left);
    if (c >= 0 && c * D.ranks + r < heat.length) {
      const n = calls[c * D.ranks + r];
      words = 'rank ' + r + ' came last in ' + n + (n === 1 ? ' call' : ' calls') + ' of these ' +
        text((to - from) / (width - left - right) * 1e9) +
        (n === 0 ? '' : '\nby ' + text(heat[c * D.ranks + r]) + ' in all');
    }
  }
  tip.style.display = words === '' ? 'none' : 'block';
  tip.textContent = words;
  const wide = tip.offsetWidth;
  tip.style.left = (x + 16 + wide > width ? Math.max(0, x - wide - 12) : x + 14) + 'px';
  tip.style.top = (y + 12) + 'px';
}

let waits = false;
function redraw() {
  if (waits) return;
  waits = true;
  requestAnimationFrame(() => { waits = false; draw(); });
}
function view(a, b) {
  const least = Math.max((end - begin) * 1e-7, 1e-8), all = Math.max(end - begin, 1e-9);
  const span = Math.min(all, Math.max(least, b - a));
  from = Math.min(Math.max(begin, a), begin + all - span);
  to = from + span;
  redraw();
}
canvas.addEventListener('wheel', e => {
  e.preventDefault();
  const middle = tOf(e.offsetX), factor = Math.exp(Math.max(-1, Math.min(1, e.deltaY / 300)));
  view(middle - (middle - from) * factor, middle + (to - middle) * factor);
  tip.style.display = 'none';
}, {passive: false});
let held = null;
canvas.addEventListener('pointerdown', e => {
  held = {x: e.offsetX, from, to};
  canvas.setPointerCapture(e.pointerId);
  canvas.classList.add('moving');
});
canvas.addEventListener('pointermove', e => {
  if (held === null) { show(e.offsetX, e.offsetY); return; }
  const by = (held.x - e.offsetX) / (width - left - right) * (held.to - held.from);
  view(held.from + by, held.to + by);
  tip.style.display = 'none';
});
const release = () => { held = null; canvas.classList.remove('moving'); };
canvas.addEventListener('pointerup', release);
canvas.addEventListener('pointercancel', release);
canvas.addEventListener('pointerleave', () => { tip.style.display = 'none'; });
canvas.addEventListener('dblclick', () => view(begin, end));
document.getElementById('whole').addEventListener('click', () => view(begin, end));

const legend = document.getElementById('legend');
for (let c = 0; c < Math.min(9, D.places.length); ++c) {
  const button = document.createElement('button'), mark = document.createElement('i');
  mark.style.background = 'var(--c' + c + ')';
  button.append(mark, c < 8 ? D.places[c] : 'other places');
  button.addEventListener('click', () => {
    if (!hidden.delete(c)) hidden.add(c);
    button.classList.toggle('off', hidden.has(c));
    redraw();
  });
  legend.append(button);
}
new ResizeObserver(redraw).observe(canvas.parentElement);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
draw();
document.body.dataset.calls = count;
