// Shows a binary glTF file that fourbar wrote: robots that keyframes move. Plain WebGL 2, no library.
"use strict";
(() => {
  const canvas = document.getElementById("scene");
  const gl = canvas.getContext("webgl2", { antialias: true, preserveDrawingBuffer: true });
  const text = document.getElementById("notes");
  if (!gl) { text.textContent = "This browser has no WebGL 2, which showing the robot needs."; return; }

  // The file: JSON, then numbers.
  const bytes = Uint8Array.from(atob(document.getElementById("glb").textContent.trim()), (c) => c.charCodeAt(0));
  const head = new DataView(bytes.buffer);
  const length = head.getUint32(12, true);
  const file = JSON.parse(new TextDecoder().decode(bytes.subarray(20, 20 + length)));
  const bytesFrom = 28 + length;
  const widths = { SCALAR: 1, VEC3: 3, VEC4: 4 };
  const numbers = (k) => {
    const a = file.accessors[k], at = bytesFrom + (file.bufferViews[a.bufferView].byteOffset || 0);
    const kind = a.componentType === 5125 ? Uint32Array : Float32Array;
    return new kind(bytes.slice(at, at + 4 * a.count * widths[a.type]).buffer);
  };

  // Matrices, by columns.
  const multiply = (a, b) => {
    const c = new Float32Array(16);
    for (let i = 0; i < 4; i++) for (let j = 0; j < 4; j++) {
      let s = 0;
      for (let k = 0; k < 4; k++) s += a[4 * k + j] * b[4 * i + k];
      c[4 * i + j] = s;
    }
    return c;
  };
  const placed = (t, q, s) => {
    const [x, y, z, w] = q;
    return new Float32Array([
      (1 - 2 * (y * y + z * z)) * s[0], 2 * (x * y + w * z) * s[0], 2 * (x * z - w * y) * s[0], 0,
      2 * (x * y - w * z) * s[1], (1 - 2 * (x * x + z * z)) * s[1], 2 * (y * z + w * x) * s[1], 0,
      2 * (x * z + w * y) * s[2], 2 * (y * z - w * x) * s[2], (1 - 2 * (x * x + y * y)) * s[2], 0,
      t[0], t[1], t[2], 1]);
  };
  const subtract = (a, b) => a.map((x, k) => x - b[k]);
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const unit = (a) => { const n = Math.hypot(...a) || 1; return a.map((x) => x / n); };

  // Programs: surfaces in the light of sky, sun and viewer, with shadows and the lines of floors; the sky; the depth
  // from the sun.
  const look = file.extras.look, radius = file.extras.floor.radius, small = file.extras.size * look.soft;
  const number = (x) => x.toFixed(6), vector = (x) => `vec3(${x.map(number)})`;
  const light = (x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
  const taps = [...Array(16).keys()].map((k) => [Math.sqrt((k + 0.5) / 16), 2.399963 * k]);
  const program = (vertex, fragment) => {
    const made = gl.createProgram(), known = {};
    for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, "#version 300 es\nprecision highp float;\nprecision highp sampler2DShadow;\n" + source);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(made, shader);
    }
    gl.bindAttribLocation(made, 0, "place");
    gl.bindAttribLocation(made, 1, "normal");
    gl.linkProgram(made);
    return (name) => name ? known[name] || (known[name] = gl.getUniformLocation(made, name)) : made;
  };
  const sun = unit(look.sun), [ambient, upwards, direct, beside] = look.light.map(number);
  const surface = program(
    `in vec3 place, normal; uniform mat4 model, view; uniform vec3 stretch; out vec3 n, p;
     void main() { vec4 w = model * vec4(place, 1.0); p = w.xyz; n = mat3(model) * (normal / stretch); gl_Position = view * w; }`,
    `in vec3 n, p; uniform vec4 colour; uniform vec3 eye, centre; uniform float tile, bare; uniform mat4 sunned;
     uniform sampler2DShadow depth; out vec4 shown;
     const vec3 sun = ${vector(sun)};
     float lit(vec3 u) {
       vec4 s = sunned * vec4(p + u * ${number(0.5 * small)} + sun * ${number(0.5 * small)}, 1.0);
       vec3 q = s.xyz * 0.5 + 0.5;
       if (q.x < 0.0 || q.y < 0.0 || q.x > 1.0 || q.y > 1.0) return 1.0;
       vec2 wide = ${number(small)} * 0.5 * vec2(length(vec3(sunned[0].x, sunned[1].x, sunned[2].x)), length(vec3(sunned[0].y, sunned[1].y, sunned[2].y)));
       float total = 0.0;
       ${taps.map(([r, a]) => `total += texture(depth, vec3(q.xy + wide * vec2(${number(r * Math.cos(a))}, ${number(r * Math.sin(a))}), min(q.z, 1.0)));`).join(" ")}
       return total / 16.0; }
     float line(vec2 c, float opacity) {
       vec2 w = max(fwidth(c), 1e-9), l = clamp(1.0 - abs(c - round(c)) / w, 0.0, 1.0) * (1.0 - smoothstep(0.15, 0.5, w));
       return opacity * max(l.x, l.y); }
     void main() {
       vec3 u = normalize(n), e = normalize(eye - p); if (dot(u, e) < 0.0) u = -u;
       vec3 a = abs(u); vec2 c = (a.z >= a.x && a.z >= a.y ? p.xy : a.y >= a.x ? p.xz : p.yz) / max(tile, 1e-9);
       float grid = max(line(c, ${number(look.lines[0])}), line(c / ${number(look.strong)}, ${number(look.lines[1])}));
       grid = tile > 0.0 ? grid : 0.0;
       float s = lit(u), seen = tile > 0.0 ? 1.0 - smoothstep(${number(look.fade * radius)}, ${number(radius)}, distance(p, centre)) : 1.0;
       if (bare > 0.0) {
         float line = grid * seen, dark = ${number(look.shade)} * (1.0 - s), alpha = 1.0 - (1.0 - line) * (1.0 - dark);
         shown = vec4(${vector(look.line)} * line * (1.0 - dark) / max(alpha, 1e-6), alpha); return; }
       float bright = ${ambient} + ${upwards} * u.z + ${direct} * s * max(dot(u, sun), 0.0) + ${beside} * max(dot(u, e), 0.0);
       float gloss = ${number(look.gloss[0])} * s * pow(max(dot(u, normalize(sun + e)), 0.0), ${number(look.gloss[1])});
       vec3 paint = mix(colour.rgb, ${vector(look.line.map(light))}, grid);
       shown = vec4(pow(paint * bright + gloss, vec3(1.0 / 2.2)), colour.a * seen); }`);
  const sky = program(
    `uniform vec3 right, up, back; out vec3 ray;
     void main() { vec2 c = vec2(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0);
       ray = c.x * right + c.y * up - back; gl_Position = vec4(c, 0.999999, 1.0); }`,
    `in vec3 ray; out vec4 shown;
     void main() { float rise = clamp(${number(look.rise)} * normalize(ray).z, 0.0, 1.0);
       shown = vec4(mix(${vector(look.horizon)}, ${vector(look.sky)}, rise), 1.0); }`);
  const depth = program(`in vec3 place; uniform mat4 model, sunned; void main() { gl_Position = sunned * model * vec4(place, 1.0); }`,
    `out vec4 shown; void main() { shown = vec4(1.0); }`);
  const map = 1024, shade = gl.createTexture(), shadows = gl.createFramebuffer();
  gl.bindTexture(gl.TEXTURE_2D, shade);
  gl.texStorage2D(gl.TEXTURE_2D, 1, gl.DEPTH_COMPONENT24, map, map);
  for (const [name, x] of [["MIN_FILTER", "LINEAR"], ["MAG_FILTER", "LINEAR"], ["WRAP_S", "CLAMP_TO_EDGE"], ["WRAP_T", "CLAMP_TO_EDGE"],
    ["COMPARE_MODE", "COMPARE_REF_TO_TEXTURE"], ["COMPARE_FUNC", "LEQUAL"]]) gl.texParameteri(gl.TEXTURE_2D, gl[`TEXTURE_${name}`], gl[x]);
  gl.bindFramebuffer(gl.FRAMEBUFFER, shadows);
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, shade, 0);
  gl.drawBuffers([gl.NONE]);
  gl.bindFramebuffer(gl.FRAMEBUFFER, null);

  const lists = (file.meshes || []).map((mesh) => mesh.primitives.map((part) => {
    const own = gl.createVertexArray();
    gl.bindVertexArray(own);
    ["POSITION", "NORMAL"].forEach((name, k) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ARRAY_BUFFER, numbers(part.attributes[name]), gl.STATIC_DRAW);
      gl.enableVertexAttribArray(k);
      gl.vertexAttribPointer(k, 3, gl.FLOAT, false, 0, 0);
    });
    const faces = numbers(part.indices);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, faces, gl.STATIC_DRAW);
    gl.bindVertexArray(null);
    const { min, max } = file.accessors[part.attributes.POSITION];
    return { own, count: faces.length, min, max, colour: file.materials[part.material].pbrMetallicRoughness.baseColorFactor };
  }));

  // Nodes: the z axis of fourbar is upwards, so the turn of the root to glTF's axes is left out.
  const nodes = file.nodes.map((n) => ({
    ...n, t: n.translation || [0, 0, 0], q: n.rotation || [0, 0, 0, 1], s: n.scale || [1, 1, 1], children: n.children || [],
  }));
  const root = file.scenes[0].nodes[0];
  nodes[root].q = [0, 0, 0, 1];
  const motion = ((file.animations || [])[0] || { channels: [], samplers: [] });
  const tracks = motion.channels.map((c) => ({
    node: nodes[c.target.node], path: c.target.path, times: numbers(motion.samplers[c.sampler].input),
    values: numbers(motion.samplers[c.sampler].output),
  }));
  const letter = { translation: "t", rotation: "q", scale: "s" };
  const follow = (t) => {
    for (const { node, path, times, values } of tracks) {
      const width = path === "rotation" ? 4 : 3, last = times.length - 1;
      let low = 0, high = last;
      while (high - low > 1) { const m = (low + high) >> 1; if (times[m] <= t) low = m; else high = m; }
      const u = Math.min(1, Math.max(0, (t - times[low]) / (times[high] - times[low] || 1)));
      const x = new Array(width);
      for (let k = 0; k < width; k++) x[k] = values[width * low + k] * (1 - u) + values[width * high + k] * u;
      if (width === 4) { const n = Math.hypot(...x); x.forEach((y, k) => { x[k] = y / n; }); }
      node[letter[path]] = x;
    }
  };

  // The camera looks at the middle of a box, so that the box fills the picture; or follows the base.
  const followed = file.extras.follow, base = followed.node === null ? null : nodes[followed.node];
  const home = base ? [...(base.translation || [0, 0, 0])] : null;
  const back = (turn, rise) => [Math.cos(turn) * Math.cos(rise), Math.sin(turn) * Math.cos(rise), Math.sin(rise)];
  const [filled, field] = file.extras.camera.fit;
  const fitted = () => {
    const which = followed.on ? "start" : "bounds", [low, high] = file.extras[which], [turn, rise] = file.extras.camera[which];
    const at = low.map((x, k) => (x + high[k]) / 2), b = back(turn, rise), right = unit(cross([0, 0, 1], b)), up = cross(b, right);
    const half = filled * Math.tan(field / 2), wide = canvas.clientWidth / canvas.clientHeight;
    let away = 0;
    for (let k = 0; k < 8; k++) {
      const c = low.map((x, i) => ((k >> i) & 1 ? high[i] : x) - at[i]);
      away = Math.max(away, dot(b, c) + Math.max(Math.abs(dot(right, c)) / wide, Math.abs(dot(up, c))) / half);
    }
    return { at, turn, rise, away: away || 1 };
  };
  const camera = fitted();
  const viewed = () => {
    const { away, turn, rise } = camera, wide = canvas.width / canvas.height;
    const at = followed.on && base ? camera.at.map((x, k) => x + base.t[k] - home[k]) : camera.at;
    const b = back(turn, rise), eye = at.map((x, k) => x + b[k] * away);
    const right = unit(cross([0, 0, 1], b)), up = cross(b, right);
    const turned = new Float32Array([right[0], up[0], b[0], 0, right[1], up[1], b[1], 0, right[2], up[2], b[2], 0,
      -dot(right, eye), -dot(up, eye), -dot(b, eye), 1]);
    const f = 1 / Math.tan(field / 2), n = 0.01 * away, d = 20 * away + 4 * radius;
    const lens = new Float32Array([f / wide, 0, 0, 0, 0, f, 0, 0, 0, 0, (d + n) / (n - d), -1, 0, 0, 2 * d * n / (n - d), 0]);
    return { eye, right, up, back: b, wide: wide / f, high: 1 / f, view: multiply(lens, turned) };
  };

  // A floor of lines and shadows, where no ground is drawn.
  const names = [...new Set(nodes.map((n) => (n.extras || {}).layer).filter(Boolean))];
  const { middle, below, tile } = file.extras.floor;
  const plain = gl.createVertexArray(), one = placed([0, 0, 0], [0, 0, 0, 1], [1, 1, 1]);
  gl.bindVertexArray(plain);
  [[-1, -1, 1, -1, 1, 1, -1, -1, 1, 1, -1, 1].flatMap((x, k) => (k % 2 ? [middle[1] + x * radius, below] : [middle[0] + x * radius])),
    Array(6).fill([0, 0, 1]).flat()].forEach((x, k) => {
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(x), gl.STATIC_DRAW);
    gl.enableVertexAttribArray(k);
    gl.vertexAttribPointer(k, 3, gl.FLOAT, false, 0, 0);
  });
  gl.bindVertexArray(null);

  // The view from the sun, as a matrix: a box around all that casts a shadow.
  const sunned = (parts) => {
    const side = unit(cross(sun, [1, 0, 0])), other = cross(sun, side);
    const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
    for (const { part: { min, max }, model: m } of parts) for (let k = 0; k < 8; k++) {
      const c = min.map((x, i) => ((k >> i) & 1 ? max[i] : x));
      const p = [0, 1, 2].map((i) => m[i] * c[0] + m[4 + i] * c[1] + m[8 + i] * c[2] + m[12 + i]);
      [dot(side, p), dot(other, p), dot(sun, p)].forEach((x, i) => { low[i] = Math.min(low[i], x); high[i] = Math.max(high[i], x); });
    }
    if (!parts.length) { low.fill(0); high.fill(1e-3); }
    for (let i = 0; i < 3; i++) { low[i] -= 2 * small; high[i] += 2 * small; }
    const rows = [side, other, sun].map((axis, i) => {
      const scale = (i === 2 ? -2 : 2) / (high[i] - low[i]);
      return [...axis.map((x) => x * scale), -scale * (high[i] + low[i]) / 2];
    });
    return new Float32Array([0, 1, 2, 3].flatMap((k) => [...rows.map((r) => r[k]), k === 3 ? 1 : 0]));
  };

  const hidden = new Set(["collision", "frames", "axes", "mass", "inertia"]);
  const paint = (parts, bare) => parts.forEach(({ part, model, tile, stretch }) => {
    gl.uniformMatrix4fv(surface("model"), false, model);
    gl.uniform4fv(surface("colour"), part.colour);
    gl.uniform3fv(surface("stretch"), stretch);
    gl.uniform1f(surface("tile"), tile);
    gl.uniform1f(surface("bare"), bare ? 1 : 0);
    gl.bindVertexArray(part.own);
    if (bare) gl.drawArrays(gl.TRIANGLES, 0, part.count);
    else gl.drawElements(gl.TRIANGLES, part.count, gl.UNSIGNED_INT, 0);
  });
  const seen = () => {
    const solid = [], clear = [], floors = [];
    const visit = (k, above) => {
      const n = nodes[k], extras = n.extras || {}, model = multiply(above, placed(n.t, n.q, n.s));
      if (n.mesh !== undefined && !hidden.has(extras.layer) && n.s[2] > 0) for (const part of lists[n.mesh])
        (extras.tile ? floors : part.colour[3] < 1 ? clear : solid).push({ part, model, tile: extras.tile || 0, stretch: n.s.map((x) => x * x) });
      n.children.forEach((child) => visit(child, model));
    };
    visit(root, one);
    return { solid, clear, floors };
  };
  const cast = (parts, sunMatrix) => {
    gl.bindFramebuffer(gl.FRAMEBUFFER, shadows);
    gl.viewport(0, 0, map, map);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    gl.useProgram(depth());
    gl.uniformMatrix4fv(depth("sunned"), false, sunMatrix);
    for (const { part, model } of parts) {
      gl.uniformMatrix4fv(depth("model"), false, model);
      gl.bindVertexArray(part.own);
      gl.drawElements(gl.TRIANGLES, part.count, gl.UNSIGNED_INT, 0);
    }
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  };
  const draw = () => {
    const ratio = window.devicePixelRatio || 1;
    const [w, h] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
    if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
    gl.enable(gl.DEPTH_TEST);
    gl.disable(gl.BLEND);
    gl.depthMask(true);
    const { solid, clear, floors } = seen(), sunMatrix = sunned(solid);
    cast(solid, sunMatrix);
    gl.viewport(0, 0, w, h);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    const v = viewed();
    gl.depthMask(false);
    gl.useProgram(sky());
    gl.uniform3fv(sky("right"), v.right.map((x) => x * v.wide));
    gl.uniform3fv(sky("up"), v.up.map((x) => x * v.high));
    gl.uniform3fv(sky("back"), v.back);
    gl.bindVertexArray(plain);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    gl.depthMask(true);
    gl.useProgram(surface());
    gl.uniformMatrix4fv(surface("view"), false, v.view);
    gl.uniformMatrix4fv(surface("sunned"), false, sunMatrix);
    gl.uniform3fv(surface("eye"), v.eye);
    gl.uniform3fv(surface("centre"), middle);
    paint(solid);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    paint(floors);
    gl.depthMask(false);
    if (!names.includes("ground") || hidden.has("ground"))
      paint([{ part: { own: plain, count: 6, colour: [0, 0, 0, 1] }, model: one, tile, stretch: [1, 1, 1] }], true);
    paint(clear);
    gl.depthMask(true);
  };

  // Controls.
  const element = (id) => document.getElementById(id);
  const duration = file.extras.duration || 0, state = { t: 0, plays: duration > 0, last: 0 };
  const bar = element("bar"), slider = element("time"), button = element("play"), label = element("clock"), speed = element("speed");
  const set = (t) => {
    state.t = t;
    follow(t);
    slider.value = t;
    label.textContent = `${t.toFixed(2)} s`;
    draw();
  };
  const play = (on) => { state.plays = on; state.last = 0; button.textContent = on ? "❚❚" : "▶"; button.title = on ? "pause" : "play"; };
  if (!(duration > 0)) bar.style.display = "none";
  slider.max = duration;
  button.onclick = () => play(!state.plays);
  slider.oninput = () => { play(false); set(+slider.value); };
  const explain = () => { // a legend of what is shown
    const lines = (file.extras.legend || []).filter((x) => names.includes(x.layer) && !hidden.has(x.layer)).map(({ colour, text }) => {
      const line = document.createElement("div"), mark = document.createElement("i");
      mark.style.background = `rgb(${colour.slice(0, 3).map((x) => Math.round(255 * x))})`;
      line.append(mark, text);
      return line;
    });
    element("legend").replaceChildren(...lines);
  };
  const called = { shapes: "shapes", collision: "collision shapes", frames: "frames", axes: "joint axes", mass: "centres of mass",
    inertia: "inertia", ground: "ground", ghosts: "ghosts", forces: "contact forces" };
  for (const name of Object.keys(called).filter((x) => names.includes(x))) {
    const box = document.createElement("input"), row = document.createElement("label");
    box.type = "checkbox";
    box.id = `layer-${name}`;
    box.checked = !hidden.has(name);
    box.onchange = () => { if (box.checked) hidden.delete(name); else hidden.add(name); explain(); draw(); };
    row.append(box, ` ${called[name] || name}`);
    element("layers").append(row);
  }
  const reset = () => { Object.assign(camera, fitted()); draw(); };
  element("reset").onclick = reset;
  const follows = element("follow");
  follows.checked = followed.on;
  element("followed").textContent = `follow ${followed.name}`;
  follows.onchange = () => { followed.on = follows.checked; reset(); };
  if (!base) follows.parentElement.style.display = "none";
  explain();
  text.textContent = (file.extras.notes || []).join("; ");

  // Turning, moving, coming nearer.
  const held = new Map();
  canvas.addEventListener("pointerdown", (e) => { held.set(e.pointerId, [e.clientX, e.clientY]); canvas.setPointerCapture(e.pointerId); });
  const release = (e) => held.delete(e.pointerId);
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointermove", (e) => {
    if (!held.has(e.pointerId)) return;
    const [x, y] = held.get(e.pointerId), dx = e.clientX - x, dy = e.clientY - y;
    const others = [...held].filter(([k]) => k !== e.pointerId).map(([, p]) => p);
    held.set(e.pointerId, [e.clientX, e.clientY]);
    if (others.length) {
      const before = Math.hypot(x - others[0][0], y - others[0][1]), now = Math.hypot(e.clientX - others[0][0], e.clientY - others[0][1]);
      camera.away *= before / (now || 1);
    } else if (e.shiftKey || e.buttons & 6) {
      const { right, up } = viewed(), scale = camera.away / canvas.clientHeight * 0.8;
      camera.at = camera.at.map((p, k) => p - (right[k] * dx - up[k] * dy) * scale);
    } else {
      camera.turn -= 0.008 * dx;
      camera.rise = Math.min(1.55, Math.max(-1.55, camera.rise + 0.008 * dy));
    }
    draw();
  });
  canvas.addEventListener("contextmenu", (e) => e.preventDefault());
  canvas.addEventListener("wheel", (e) => { e.preventDefault(); camera.away *= Math.exp(0.001 * e.deltaY); draw(); }, { passive: false });
  canvas.addEventListener("dblclick", reset);
  window.addEventListener("resize", draw);

  const tick = (now) => {
    if (state.plays) {
      if (state.last) set((state.t + (now - state.last) / 1000 * +speed.value) % (duration || 1));
      state.last = now;
    }
    window.requestAnimationFrame(tick);
  };
  // An address with #still=0.5 shows the scene at that time without controls.
  const asked = /still=([-0-9.e]+)/.exec(window.location.hash);
  play(state.plays && !asked);
  if (asked) document.body.classList.add("still");
  set(asked ? Math.min(duration, Math.max(0, +asked[1])) : 0);
  window.fourbar = { set, play, camera, draw, hidden, duration, reset, followed };
  if (!asked) window.requestAnimationFrame(tick);
})();
