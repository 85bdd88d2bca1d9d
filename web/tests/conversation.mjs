// Pictures of the three pages with a conversation that a model really has: node tests/conversation.mjs MODEL FOLDER
import { mkdir } from 'node:fs/promises';
import { composer, desktop, openPage, phone, settle, startBrowser } from './browser.mjs';
import { endServers, startServer } from './server.mjs';

const [model, folder] = process.argv.slice(2);
await mkdir(folder, { recursive: true });
process.on('exit', endServers); // also when a picture could not be taken
const server = await startServer(model, '--temp', '0');
const browser = await startBrowser();
const questions = [
  'What is a glacier?',
  'Write a Python function that returns the n-th Fibonacci number.',
  'Give me three tips for a good night of sleep, as a list.',
];

for (const colorScheme of ['light', 'dark']) {
  for (const [name, viewport] of Object.entries({ desktop, phone })) {
    const touch = name === 'phone' ? { hasTouch: true, isMobile: true, deviceScaleFactor: 2 } : {};
    const page = await openPage(browser, server.address, { context: { viewport, colorScheme, ...touch } });
    const shoot = (what) => page.screenshot({ path: `${folder}/real-${what}-${colorScheme}-${name}.png` });
    await page.locator('.welcome p').nth(2).waitFor();
    for (const [index, question] of questions.entries()) {
      await composer(page).fill(question);
      await page.getByRole('button', { name: 'Send (Enter)' }).click(); // on a phone, Enter begins a new line
      await page.locator('.message.assistant').nth(index).waitFor();
      await settle(page);
    }
    await shoot('chat');
    await page.goto(`${server.address}/#/monitor`);
    // Others keep the server busy while the monitor looks.
    const body = { messages: [{ role: 'user', content: 'Tell me a long story about a river.' }], max_tokens: 600, ignore_eos: true };
    const others = Array.from({ length: 3 }, (_, seed) =>
      fetch(`${server.address}/v1/chat/completions`, { method: 'POST', body: JSON.stringify({ ...body, seed, temperature: 1 }) }),
    );
    await page.waitForTimeout(4000);
    await shoot('monitor');
    for (const other of others) await (await other).text();
    await page.goto(`${server.address}/#/model`);
    await page.locator('.bar').first().waitFor();
    await page.waitForTimeout(200);
    await shoot('model');
    await page.done();
  }
}
await browser.close();
await server.stop();
