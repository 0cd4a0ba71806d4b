// Functions that V8 compiles, compiles again and throws away; strings,
// regular expressions, typed arrays, exceptions, promises, a worker.
const { Worker, isMainThread, parentPort } = require('worker_threads');
function mix(n) { let x = 1; for (let i = 0; i < n; i++) { x = Math.imul(x, 1664525) + 1013904223 | 0; } return x >>> 0; }
function poly(o) { return o.a + (o.b || 0); }
if (!isMainThread) { parentPort.postMessage(mix(2000000)); } else {
  let out = [mix(5000000)];
  let sum = 0;
  for (let i = 0; i < 300000; i++) {
    const o = i % 3 ? { a: i } : i % 2 ? { b: 2, a: i } : { a: i + 0.5, c: 1, b: 1 };
    sum += poly(o);                                    // deoptimised now and then
  }
  out.push(sum);
  const f = new Float64Array(4096);
  for (let r = 0; r < 200; r++) for (let i = 0; i < f.length; i++) f[i] += Math.sqrt(i * r) * 0.5;
  out.push(f.reduce((a, b) => a + b, 0).toFixed(6));
  for (let i = 0; i < 300; i++) out[3] = (out[3] || 0) + new Function('x', `return x * ${i} + ${i % 7}`)(i);
  let text = ''; for (let i = 0; i < 20000; i++) text += String.fromCharCode(97 + i % 26);
  out.push((text.match(/(abc|xyz)[d-f]*/g) || []).length, JSON.stringify(JSON.parse(`{"t":"${text}"}`)).length);
  let caught = 0; for (let i = 0; i < 2000; i++) try { null.x; } catch (e) { caught++; }
  out.push(caught);
  const m = new Map(); for (let i = 0; i < 100000; i++) m.set('k' + i % 5000, i); out.push(m.size);
  const w = new Worker(__filename);
  w.on('message', async (x) => { for (let i = 0; i < 1000; i++) await null; out.push(x); console.log(out.join(' ')); });
}
