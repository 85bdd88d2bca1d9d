// terrace serve, as scripts/web has built it.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));
const running = new Set();

export function endServers() {
  for (const child of running) child.kill('SIGKILL');
}

export async function startServer(model, ...options) {
  const child = spawn(join(root, 'build/release/terrace'), ['serve', model, '--port', '0', ...options], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  child.on('exit', () => running.delete(child));
  let output = '';
  const address = await new Promise((resolve, reject) => {
    const read = (data) => {
      output += data;
      const found = output.match(/served at (http:\S+)/);
      if (found) resolve(found[1]);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.on('exit', () => reject(new Error(`the server ended: ${output}`)));
  });
  return {
    address,
    stop: () =>
      new Promise((resolve) => {
        child.on('exit', resolve);
        child.kill('SIGTERM');
      }),
  };
}
