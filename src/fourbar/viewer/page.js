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
  const base = 28 + length;
  const widths = { SCALAR: 1, VEC3: 3, VEC4: 4 };
  const numbers = (k) => {
    const a = file.accessors[k], at = base + (file.bufferViews[a.bufferView].byteOffset || 0);
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

  // Programs: surfaces with light from above and from the viewer, and lines of one colour.
  const program = (vertex, fragment) => {
    const made = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, "#version 300 es\nprecision highp float;\n" + source);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(made, shader);
    }
    gl.bindAttribLocation(made, 0, "place");
    gl.bindAttribLocation(made, 1, "normal");
    gl.linkProgram(made);
    return (name) => name ? gl.getUniformLocation(made, name) : made;
  };
  const surface = program(
    `in vec3 place, normal; uniform mat4 model, view; out vec3 n, p;
     void main() { vec4 w = model * vec4(place, 1.0); p = w.xyz; mat3 m = mat3(model);
       n = m * normal; gl_Position = view * w; }`,
    `in vec3 n, p; uniform vec4 colour; uniform vec3 eye; out vec4 shown;
     void main() { vec3 u = normalize(n), e = normalize(eye - p); if (dot(u, e) < 0.0) u = -u;
       vec3 sun = normalize(vec3(0.35, -0.5, 0.9));
       float light = 0.34 + 0.16 * u.z + 0.50 * max(dot(u, sun), 0.0) + 0.22 * max(dot(u, e), 0.0);
       float gloss = pow(max(dot(u, normalize(sun + e)), 0.0), 40.0) * 0.12;
       shown = vec4(pow(colour.rgb * light + gloss, vec3(1.0 / 2.2)), colour.a); }`);
  const line = program(
    `in vec3 place; uniform mat4 view; out vec3 p; void main() { p = place; gl_Position = view * vec4(place, 1.0); }`,
    `in vec3 p; uniform vec3 centre; uniform float far; out vec4 shown;
     void main() { float fade = 1.0 - smoothstep(0.3 * far, far, distance(p, centre)); shown = vec4(0.55, 0.58, 0.62, 0.55 * fade); }`);

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
    return { own, count: faces.length, colour: file.materials[part.material].pbrMetallicRoughness.baseColorFactor };
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

  // The camera looks at the middle of the box, from the front and a little above.
  const [low, high] = file.extras.bounds;
  const size = Math.hypot(...subtract(high, low)) || 1;
  const [turn, rise, away, field] = file.extras.camera;
  const start = { at: low.map((x, k) => (x + high[k]) / 2), away: away * size, turn, rise };
  const camera = { ...start, at: [...start.at] };
  const viewed = () => {
    const { at, away, turn, rise } = camera, wide = canvas.width / canvas.height;
    const back = [Math.cos(turn) * Math.cos(rise), Math.sin(turn) * Math.cos(rise), Math.sin(rise)];
    const far = away / Math.min(1, wide);
    const eye = at.map((x, k) => x + back[k] * far);
    const right = unit(cross([0, 0, 1], back)), up = cross(back, right);
    const turned = new Float32Array([right[0], up[0], back[0], 0, right[1], up[1], back[1], 0, right[2], up[2], back[2], 0,
      -dot(right, eye), -dot(up, eye), -dot(back, eye), 1]);
    const f = 1 / Math.tan(field / 2), n = 0.01 * far, d = 100 * far;
    const lens = new Float32Array([f / wide, 0, 0, 0, 0, f, 0, 0, 0, 0, (d + n) / (n - d), -1, 0, 0, 2 * d * n / (n - d), 0]);
    return { eye, right, up, view: multiply(lens, turned) };
  };

  // A floor of lines, where no ground is drawn.
  const names = [...new Set(nodes.map((n) => (n.extras || {}).layer).filter(Boolean))];
  const step = [1, 2, 5, 10].map((k) => k * 10 ** Math.floor(Math.log10(size / 8))).find((k) => k >= size / 8);
  const many = 20, floor = [];
  const middle = [Math.round(start.at[0] / step) * step, Math.round(start.at[1] / step) * step, Math.min(low[2], high[2])];
  for (let k = -many; k <= many; k++) for (let j = -many; j < many; j++) { // in pieces: long lines end behind the camera
    const a = k * step, b = j * step, c = b + step;
    floor.push(middle[0] + a, middle[1] + b, middle[2], middle[0] + a, middle[1] + c, middle[2]);
    floor.push(middle[0] + b, middle[1] + a, middle[2], middle[0] + c, middle[1] + a, middle[2]);
  }
  const grid = gl.createVertexArray();
  gl.bindVertexArray(grid);
  gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
  gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(floor), gl.STATIC_DRAW);
  gl.enableVertexAttribArray(0);
  gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
  gl.bindVertexArray(null);

  const hidden = new Set(["collision", "frames", "axes", "mass", "inertia"]);
  const draw = () => {
    const ratio = window.devicePixelRatio || 1;
    const [w, h] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
    if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
    gl.viewport(0, 0, w, h);
    gl.clearColor(0.955, 0.962, 0.972, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    const { eye, view } = viewed();
    const solid = [], clear = [];
    const visit = (k, above) => {
      const n = nodes[k], model = multiply(above, placed(n.t, n.q, n.s));
      if (n.mesh !== undefined && !hidden.has((n.extras || {}).layer) && n.s[2] > 0)
        for (const part of lists[n.mesh]) (part.colour[3] < 1 ? clear : solid).push([part, model]);
      n.children.forEach((child) => visit(child, model));
    };
    visit(root, placed([0, 0, 0], [0, 0, 0, 1], [1, 1, 1]));
    gl.useProgram(surface());
    gl.uniformMatrix4fv(surface("view"), false, view);
    gl.uniform3fv(surface("eye"), eye);
    const list = (parts) => parts.forEach(([part, model]) => {
      gl.uniformMatrix4fv(surface("model"), false, model);
      gl.uniform4fv(surface("colour"), part.colour);
      gl.bindVertexArray(part.own);
      gl.drawElements(gl.TRIANGLES, part.count, gl.UNSIGNED_INT, 0);
    });
    gl.disable(gl.BLEND);
    list(solid);
    gl.enable(gl.BLEND);
    gl.depthMask(false);
    if (!names.includes("ground") || hidden.has("ground")) {
      gl.useProgram(line());
      gl.uniformMatrix4fv(line("view"), false, view);
      gl.uniform3fv(line("centre"), middle);
      gl.uniform1f(line("far"), many * step);
      gl.bindVertexArray(grid);
      gl.drawArrays(gl.LINES, 0, floor.length / 3);
      gl.useProgram(surface());
    }
    list(clear);
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
  const called = { shapes: "shapes", collision: "collision shapes", frames: "frames", axes: "joint axes", mass: "centres of mass",
    inertia: "inertia", ground: "ground", ghosts: "ghosts", forces: "contact forces" };
  for (const name of Object.keys(called).filter((x) => names.includes(x))) {
    const box = document.createElement("input"), row = document.createElement("label");
    box.type = "checkbox";
    box.id = `layer-${name}`;
    box.checked = !hidden.has(name);
    box.onchange = () => { if (box.checked) hidden.delete(name); else hidden.add(name); draw(); };
    row.append(box, ` ${called[name] || name}`);
    element("layers").append(row);
  }
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
  canvas.addEventListener("dblclick", () => { Object.assign(camera, start, { at: [...start.at] }); draw(); });
  window.addEventListener("resize", draw);

  const tick = (now) => {
    if (state.plays) {
      if (state.last) set((state.t + (now - state.last) / 1000 * +speed.value) % (duration || 1));
      state.last = now;
    }
    window.requestAnimationFrame(tick);
  };
  // An address with #still=0,0.5,1 shows these times only, one below the other and without controls: for pictures.
  const asked = /still=([-0-9.e,]+)/.exec(window.location.hash);
  const times = asked ? asked[1].split(",").map((t) => Math.min(duration, Math.max(0, +t))) : [0];
  play(state.plays && !asked);
  if (asked) {
    document.body.classList.add("still");
    canvas.style.height = `${100 / times.length}%`;
    for (const t of times.slice(1)) {
      set(t);
      const copy = document.createElement("canvas");
      copy.width = canvas.width;
      copy.height = canvas.height;
      copy.style.cssText = `display: block; width: 100%; height: ${100 / times.length}%`;
      copy.getContext("2d").drawImage(canvas, 0, 0);
      document.body.append(copy);
    }
  }
  set(times[0]);
  window.fourbar = { set, play, camera, draw, hidden, duration };
  if (!asked) window.requestAnimationFrame(tick);
})();
