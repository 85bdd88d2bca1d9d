// The app on a real server, over a small model that writes nonsense.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { lastAnswer, openPage, say, settle, startBrowser } from './browser.mjs';
import { policy } from './mock.mjs';
import { endServers, root, startServer as start } from './server.mjs';

const model = join(root, 'tests/data/fixtures/qwen3/model-f32.gguf');

let browser;
let folder;
before(async () => {
  browser = await startBrowser();
  folder = await mkdtemp(join(tmpdir(), 'terrace-web-'));
});
after(async () => {
  endServers(); // of tests that failed
  await browser.close();
  await rm(folder, { recursive: true });
});

const startServer = (...options) => start(model, '--drain', '1', ...options);

const button = (page, name) => page.getByRole('button', { name, exact: true });

async function limit(page, tokens) {
  await button(page, 'Settings of this chat').click();
  await page.getByLabel('Tokens at most').fill(String(tokens));
  await page.keyboard.press('Escape');
}

test('files come with a policy, an entity tag and their types', async () => {
  const server = await startServer();
  const index = await fetch(`${server.address}/`);
  assert.equal(index.headers.get('content-security-policy'), policy);
  assert.equal(index.headers.get('cache-control'), 'no-cache');
  assert.match(index.headers.get('content-type'), /^text\/html/);
  const html = await index.text();
  for (const [, path] of html.matchAll(/(?:src|href)="\.\/([^"]+)"/g)) {
    const file = await fetch(`${server.address}/${path}`);
    assert.equal(file.status, 200, path);
    const again = await fetch(`${server.address}/${path}`, { headers: { 'If-None-Match': file.headers.get('etag') } });
    assert.equal(again.status, 304, path);
  }
  assert.equal((await fetch(`${server.address}/app/nothing.js`)).status, 404);
  assert.deepEqual(await (await fetch(`${server.address}/app/chats`)).json(), { enabled: false, chats: [] });
  await server.stop();
});

test('a conversation is written, edited, answered again, stopped, and is there after a restart', async () => {
  const chats = join(folder, 'chats.db');
  let server = await startServer('--chats', chats, '--ctx', '32768');
  const page = await openPage(browser, server.address);
  await page.getByText('Chats are kept on the server.', { exact: false }).waitFor();
  await limit(page, 12);
  await say(page, 'Hello');
  await settle(page);
  assert.match(await lastAnswer(page).locator('.figures').innerText(), /^12 tokens · [\d.,]+ tokens\/s · prompt \d+/);
  await button(page, 'Answer again').click();
  await settle(page);
  assert.equal(await lastAnswer(page).locator('.branches').innerText(), '2/2');
  await button(page, 'Edit the message').click();
  await page.getByLabel('Edit the message').fill('Hello again');
  await page.getByLabel('Edit the message').press('Enter');
  await settle(page);
  assert.equal(await page.locator('.message.user .branches').innerText(), '2/2');
  await page.locator('.message.user').getByRole('button', { name: 'Version before' }).click();
  await page.reload();
  await page.locator('.message.user .branches').getByText('1/2').waitFor();
  const before = await page.locator('.messages').innerText();

  // It would go on for thousands of tokens, and is over at once.
  await limit(page, 30_000);
  await page.route('**/v1/chat/completions', (route) =>
    route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON(), ignore_eos: true }) }),
  );
  await say(page, 'Go on');
  await button(page, 'Stop (Esc)').waitFor();
  await page.keyboard.press('Escape');
  await settle(page);
  await page.waitForFunction(async () => (await (await fetch('/v1/status')).json()).slots.every((slot) => !slot.is_processing));
  await page.done();

  await server.stop();
  server = await startServer('--chats', chats);
  const later = await openPage(browser, server.address);
  await later.getByRole('link', { name: 'Hello', exact: true }).click();
  await later.locator('.message').nth(3).waitFor();
  assert.ok((await later.locator('.messages').innerText()).startsWith(before.slice(0, 40)));
  await button(later, 'Delete Hello').click();
  await button(later, 'Delete').click();
  await later.getByText('None yet.').waitFor();
  await later.done();
  await server.stop();
});

test('errors of the server are shown', async () => {
  const server = await startServer();
  const page = await openPage(browser, server.address, { tolerated: /status of 400/ });
  await page.getByText('Chats are kept in this browser.', { exact: false }).waitFor();
  await say(page, 'a long text '.repeat(20_000));
  await settle(page);
  assert.match(await page.locator('.failure').innerText(), /\d+ tokens/);
  await page.done();
  await server.stop();
});

test('with a key, each key has its own chats', async () => {
  const server = await startServer('--api-key', 'one', '--api-key', 'two', '--chats', join(folder, 'keys.db'));
  for (const [key, known] of [
    ['one', 0],
    ['two', 0],
    ['one', 1],
  ]) {
    const page = await openPage(browser, server.address, { tolerated: /status of 401/ });
    await page.getByLabel('This server needs a key.').fill(key);
    await page.keyboard.press('Enter');
    await page.getByText('Chats are kept on the server.', { exact: false }).waitFor();
    await page.waitForTimeout(200);
    assert.equal(await page.locator('.chat-list li').count(), known);
    await limit(page, 4);
    await say(page, `From ${key}`);
    await settle(page);
    await page.locator('.chat-list li').nth(known).waitFor();
    await page.done();
  }
  await server.stop();
});

test('a document that is no chat is refused, with its reason', async () => {
  const server = await startServer('--chats', join(folder, 'refused.db'));
  const put = async (id, body) => {
    const response = await fetch(`${server.address}/app/chats/${id}`, { method: 'PUT', body });
    return [response.status, (await response.json()).error?.message];
  };
  assert.deepEqual(await put('a', '{"revision": 0, "chat": {"title": "x"}}'), [200, undefined]);
  assert.match((await put('a', '{"revision": 0, "chat": {}}'))[1], /has been changed or deleted/);
  for (const [id, body, status, message] of [
    ['b', 'nonsense', 400, /^the body is /],
    ['b', '[]', 400, /object/],
    ['b', '{"revision": 0}', 400, /^chat: is missing/],
    ['b', '{"revision": -1, "chat": {}}', 400, /^revision: /],
    ['b', '{"revision": 0, "chat": {"title": 1}}', 400, /^chat.title: /],
    ['b%20c', '{"revision": 0, "chat": {}}', 400, /id has from 1 to 64/],
    ['b', `{"revision": 0, "chat": {"title": "${'x'.repeat(5 << 20)}"}}`, 413, /at most 4194304/],
  ]) {
    const [gotStatus, gotMessage] = await put(id, body);
    assert.equal(gotStatus, status, gotMessage);
    assert.match(gotMessage, message);
  }
  assert.equal((await fetch(`${server.address}/app/chats/b`)).status, 404);
  assert.equal((await fetch(`${server.address}/app/chats/b`, { method: 'DELETE' })).status, 404);
  await server.stop();
});

test('the monitor and the model page show the real figures', async () => {
  const server = await startServer();
  const page = await openPage(browser, server.address, { path: '/#/monitor' });
  await page.locator('.plot-line').first().waitFor({ state: 'attached' }); // a flat line has no height to be seen
  assert.match(await page.locator('.slots').innerText(), /Idle/);
  await page.goto(`${server.address}/#/model`);
  await page.locator('#snippet').getByText(server.address).first().waitFor();
  assert.match(await page.locator('.card').first().innerText(), /Architecture\s+qwen3/);
  await page.done();
  await server.stop();
});
