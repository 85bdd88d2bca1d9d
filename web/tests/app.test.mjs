// The app against the mock: what it does with each kind of answer.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, afterEach, before, test } from 'node:test';
import { composer, composing, lastAnswer, openPage, phone, say, settle, startBrowser } from './browser.mjs';
import { startMock } from './mock.mjs';

let browser;
let mock;
before(async () => {
  browser = await startBrowser();
});
after(() => browser.close());
afterEach(() => mock.close());

async function open(options = {}, pageOptions = {}) {
  mock = await startMock(options);
  return openPage(browser, mock.address, pageOptions);
}

const button = (page, name) => page.getByRole('button', { name, exact: true });
const texts = (locator) => locator.allInnerTexts().then((all) => all.map((text) => text.trim()));

test('a streamed answer is Markdown with coloured code, folded thinking and figures', async () => {
  const page = await open({}, { context: { permissions: ['clipboard-read', 'clipboard-write'] } });
  await say(page, 'What are the limits?');
  await settle(page);
  const answer = lastAnswer(page);
  assert.equal(await answer.locator('h2').innerText(), 'What helps');
  assert.equal(await answer.locator('tbody tr').count(), 3);
  assert.ok((await answer.locator('.hljs-keyword').count()) > 0);
  assert.equal(await answer.locator('.thinking').getAttribute('open'), null);
  await answer.locator('.thinking summary').click();
  assert.match(await answer.locator('.thinking').innerText(), /Thought 64 tokens[^]*limited by arithmetic/);
  assert.match(await answer.locator('.figures').innerText(), /486 tokens · 28.6 tokens\/s · prompt 1,180 \(812 cached\)/);
  await answer.locator('.copy-code').click();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^import time\n/);
  assert.match(await page.locator('[role=status]').innerText(), /The answer is complete/);
  await page.done();
});

test('edit, answer again and branches; a reload shows the same', async () => {
  const page = await open();
  await say(page, 'First question');
  await settle(page);
  await button(page, 'Answer again').click();
  await settle(page);
  assert.equal(await lastAnswer(page).locator('.branches').innerText(), '2/2');
  await button(page, 'Edit the message').click();
  await page.getByLabel('Edit the message').fill('Second question');
  await page.getByLabel('Edit the message').press('Enter');
  await settle(page);
  assert.deepEqual(await texts(page.locator('.message.user .bubble')), ['Second question']);
  assert.match(await lastAnswer(page).innerText(), /You said: Second question/);
  await page.locator('.message.user').getByRole('button', { name: 'Version before' }).click();
  assert.deepEqual(await texts(page.locator('.message.user .bubble')), ['First question']);
  await lastAnswer(page).getByRole('button', { name: 'Version before' }).click();
  assert.equal(await lastAnswer(page).locator('.branches').innerText(), '1/2');
  await page.reload();
  assert.equal(await lastAnswer(page).locator('.branches').innerText(), '1/2');
  assert.deepEqual(mock.state.requests.at(-1).messages, [{ role: 'user', content: 'Second question' }]);
  await page.done();
});

test('Esc stops the answer and the connection; Continue goes on with what is there', async () => {
  const page = await open();
  await say(page, 'endless');
  await lastAnswer(page).getByText('word20').waitFor();
  await page.keyboard.press('Escape');
  await settle(page);
  assert.match(await lastAnswer(page).innerText(), /Stopped\./);
  await assert.doesNotReject(async () => {
    while (mock.state.closed === 0) await page.waitForTimeout(10);
  });
  await button(page, 'Continue').click();
  await lastAnswer(page)
    .getByText(/word20[^]*word1 /)
    .waitFor();
  const sent = mock.state.requests.at(-1).messages;
  assert.equal(sent.at(-1).role, 'assistant');
  assert.match(sent.at(-1).content, /word20/);
  await button(page, 'Stop (Esc)').click();
  await settle(page);
  await page.done();
});

test('tool calls are shown, and their results are sent', async () => {
  const page = await open();
  await button(page, 'Settings of this chat').click();
  await page.getByText('Tools', { exact: true }).click();
  await page.getByLabel('Function tools, as a JSON list').fill('[{"type": "function", "function": {"name": "get_weather"}}]');
  await button(page, 'Close').click();
  await say(page, 'the weather?');
  await settle(page);
  assert.equal(mock.state.requests[0].tools[0].function.name, 'get_weather');
  assert.deepEqual(await texts(page.locator('.call h3')), ['get_weather', 'get_time']);
  assert.match(await page.locator('.call pre').first().innerText(), /"city": "Lisbon",\n/);
  await page.getByLabel('Result of get_weather').fill('sunny');
  await button(page, 'Send the results').click();
  await settle(page);
  const sent = mock.state.requests.at(-1).messages;
  assert.deepEqual(
    sent.map((message) => message.role),
    ['user', 'assistant', 'tool', 'tool'],
  );
  assert.deepEqual(sent[2], { role: 'tool', tool_call_id: 'call_1', content: 'sunny' });
  assert.match(await lastAnswer(page).innerText(), /You said/);
  await page.done();
});

test('what a model writes cannot run or call home', async () => {
  const requests = [];
  const page = await open();
  page.on('request', (request) => requests.push(request.url()));
  await say(page, 'attack');
  await settle(page);
  assert.equal(await page.evaluate(() => window.attacked), undefined);
  assert.match(await lastAnswer(page).innerText(), /<script>window.attacked = 1<\/script>[^]*<std::vector<int>>/);
  assert.equal(await lastAnswer(page).locator('img, script, [onerror]').count(), 0);
  const links = await lastAnswer(page)
    .locator('a')
    .evaluateAll((all) => all.map((link) => link.getAttribute('href')));
  assert.deepEqual(links, [null, 'https://example.com/pixel.png', null, 'https://example.com/']);
  assert.ok(requests.every((url) => url.startsWith(mock.address)));
  await page.done();
});

test('errors are sentences with a way to try again', async () => {
  const page = await open({}, { tolerated: /status of 400|ERR_CONNECTION_REFUSED/ });
  await say(page, 'this is refused');
  await settle(page);
  assert.match(await page.locator('.failure').innerText(), /40,000 tokens and the context 32,768/);
  await button(page, 'Edit the message').click();
  await page.getByLabel('Edit the message').fill('broken');
  await page.getByLabel('Edit the message').press('Enter');
  await settle(page);
  assert.match(await lastAnswer(page).innerText(), /This much came\n+The model could not go on: .* is used up\./);
  await button(page, 'Try again').click();
  await settle(page);
  assert.equal(await lastAnswer(page).locator('.branches').innerText(), '2/2');
  await mock.close();
  await say(page, 'anybody there?');
  await page.getByText('The server does not answer.').first().waitFor();
  await page.done();
});

test('the reading of a long prompt is shown', async () => {
  const page = await open();
  await say(page, 'reading');
  await page.getByText(/Reading the prompt: \d\d,000 of 52,000 tokens, 8,000 from the cache/).waitFor();
  assert.equal(await page.locator('.reading progress').getAttribute('max'), '52000');
  await button(page, 'Stop (Esc)').click();
  await settle(page);
  await page.done();
});

test('settings go with the request, and into the next chat', async () => {
  const page = await open();
  await button(page, 'Settings of this chat').click();
  await page.getByLabel('System prompt').fill('Be brief.');
  assert.equal(await page.getByLabel('Temperature').getAttribute('placeholder'), '0.7');
  await page.getByLabel('Temperature').fill('0.2');
  await page.getByLabel('Tokens at most').fill('99');
  await page.getByLabel('Thinking').selectOption('none');
  await page.keyboard.press('Escape');
  await say(page, 'Hello');
  await settle(page);
  const sent = mock.state.requests[0];
  assert.equal(sent.temperature, 0.2);
  assert.equal(sent.max_tokens, 99);
  assert.equal(sent.reasoning_effort, 'none');
  assert.equal('top_p' in sent, false);
  assert.deepEqual(sent.messages[0], { role: 'system', content: 'Be brief.' });
  await page.keyboard.press('Control+k');
  await page.locator('.welcome').waitFor();
  await say(page, 'Another');
  await settle(page);
  assert.equal(mock.state.requests[1].messages[0].content, 'Be brief.');
  await page.done();
});

test('a text file becomes part of the message; other files are refused', async () => {
  const page = await open();
  const drop = async (name, bytes) => {
    const transfer = await page.evaluateHandle(
      ([file, content]) => {
        const data = new DataTransfer();
        data.items.add(new File([new Uint8Array(content)], file));
        return data;
      },
      [name, [...bytes]],
    );
    await page.dispatchEvent('main', 'dragover', { dataTransfer: transfer });
    await page.dispatchEvent('main', 'drop', { dataTransfer: transfer });
  };
  await drop('notes.md', Buffer.from('Fence: ```\n'));
  await page.locator('.composer .chip').getByText('notes.md').waitFor();
  await drop('picture.png', [0x89, 0x50, 0xff, 0xfe]);
  await page.getByText('picture.png is no text file').first().waitFor();
  await say(page, 'Look at this');
  await settle(page);
  assert.equal(mock.state.requests[0].messages[0].content, 'File notes.md:\n````\nFence: ```\n\n````\n\nLook at this');
  assert.deepEqual(await texts(page.locator('.message.user .chip')), ['notes.md']);
  await page.done();
});

test('export and import keep all branches; a foreign file is refused', async () => {
  const page = await open();
  await say(page, 'Keep me');
  await settle(page);
  await button(page, 'Answer again').click();
  await settle(page);
  const [download] = await Promise.all([page.waitForEvent('download'), button(page, 'Export this chat').click()]);
  assert.equal(download.suggestedFilename(), 'Keep me.json');
  const text = await readFile(await download.path(), 'utf8');
  await page.locator('[data-import]').setInputFiles({ name: 'chat.json', mimeType: 'application/json', buffer: Buffer.from(text) });
  await page.locator('.chat-list li').nth(1).waitFor();
  await page.locator('.message.assistant').waitFor();
  assert.equal(await lastAnswer(page).locator('.branches').innerText(), '2/2');
  for (const [bad, message] of [
    ['nonsense', 'is no JSON'],
    ['{"a": 1}', 'is no chat that was exported'],
    [text.replace(/"role": "user"/, '"role": "admin"'), 'must be user or assistant'],
    [text.replace(/"parent": "[0-9a-f]+"/, '"parent": "nobody"'), 'answers one that is not there'],
  ]) {
    await page.locator('[data-import]').setInputFiles({ name: 'bad.json', mimeType: 'application/json', buffer: Buffer.from(bad) });
    await page.getByText(message).first().waitFor();
  }
  assert.equal(await page.locator('.chat-list li').count(), 2);
  await page.done();
});

test('chats are renamed and deleted', async () => {
  const page = await open();
  await say(page, 'Old name');
  await settle(page);
  await button(page, 'Rename Old name').click();
  await page.getByLabel('Title').fill('New name');
  await page.keyboard.press('Enter');
  await page.locator('.page-head h1').getByText('New name').waitFor();
  await button(page, 'Delete New name').click();
  await button(page, 'Delete').click();
  await page.locator('.welcome').waitFor();
  assert.equal(await page.locator('.chat-list li').count(), 0);
  await page.reload();
  await page.getByText('None yet.').waitFor();
  await page.done();
});

test('on a server with a store, another browser sees the chats, and a conflict loses nothing', async () => {
  const page = await open({ enabled: true }, { tolerated: /status of 409/ });
  await page.getByText('Chats are kept on the server.', { exact: false }).waitFor();
  await say(page, 'Shared');
  await settle(page);
  const other = await openPage(browser, mock.address);
  await other.getByRole('link', { name: 'Shared' }).click();
  await say(other, 'From the other');
  await settle(other);
  await say(page, 'From the first');
  await settle(page);
  await page.getByRole('link', { name: 'Shared (copy)' }).waitFor();
  await page.waitForTimeout(200);
  const kept = [...mock.state.chats.values()].map(({ chat }) => [chat.title, Object.values(chat.messages).map((m) => m.content)]);
  assert.equal(kept.length, 2);
  const contents = Object.fromEntries(kept);
  assert.ok(contents['Shared'].includes('You said: From the other'));
  assert.ok(contents['Shared (copy)'].includes('You said: From the first'));
  await other.done();
  await page.done();
});

test('the key is asked for, and kept for the tab only', async () => {
  const page = await open({ key: 'secret', enabled: true }, { tolerated: /status of 401/ });
  await page.getByLabel('This server needs a key.').fill('wrong');
  await page.keyboard.press('Enter');
  await page.getByLabel('The server does not know this key.').fill('secret');
  await page.keyboard.press('Enter');
  await page.locator('.page-model').getByText('qwen3-30b-a3b-q4_k_m').waitFor();
  await say(page, 'Hello');
  await settle(page);
  assert.equal(await page.evaluate(() => sessionStorage['terrace.key']), 'secret');
  assert.equal(await page.evaluate(() => JSON.stringify(localStorage).includes('secret')), false);
  await page.goto(`${mock.address}/#/model`);
  await page.locator('#snippet').getByText('YOUR_KEY').waitFor();
  assert.equal((await page.content()).includes('secret'), false);
  await page.done();
});

test('the theme follows the system until it is chosen, and stays', async () => {
  const page = await open({}, { context: { colorScheme: 'dark' } });
  const dark = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const first = await dark();
  await button(page, 'System theme').click();
  assert.notEqual(await dark(), first);
  await page.reload();
  await button(page, 'Light theme').click();
  assert.equal(await dark(), first);
  await page.done();
});

test('on a phone nothing is wider than the screen, and the list is a drawer', async () => {
  const page = await open({}, { context: { viewport: phone, hasTouch: true, isMobile: true } });
  const narrow = async () => assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), phone.width);
  await composer(page).fill('What are the limits?');
  await composer(page).press('Enter'); // a new line there
  assert.equal(mock.state.requests.length, 0);
  await button(page, 'Send (Enter)').click();
  await settle(page);
  await narrow();
  await button(page, 'Menu').click();
  await page.getByRole('link', { name: 'Monitor' }).click();
  await page.getByText('Writing token 212').waitFor();
  await narrow();
  await button(page, 'Menu').click();
  await page.getByRole('link', { name: 'Model' }).click();
  await page.getByRole('tab', { name: 'opencode' }).click();
  await narrow();
  await page.done();
});

test('everything can be reached with the keyboard', async () => {
  const page = await open();
  await composing(page);
  await page.keyboard.type('Hello');
  await page.keyboard.press('Shift+Enter');
  await page.keyboard.type('there');
  await page.keyboard.press('Enter');
  await settle(page);
  assert.equal(mock.state.requests[0].messages[0].content, 'Hello\nthere');
  const seen = new Set();
  for (let i = 0; i < 40; ++i) {
    await page.keyboard.press('Tab');
    const [name, outlined] = await page.evaluate(() => {
      const at = document.activeElement;
      const style = getComputedStyle(at.matches('.composer-row textarea') ? at.parentElement : at);
      return [at.getAttribute('aria-label') ?? at.textContent.trim(), at === document.body || style.outlineStyle !== 'none'];
    });
    assert.ok(outlined, `the focus is not visible on ${name}`);
    seen.add(name);
  }
  for (const name of [
    'New chat',
    'Import a chat',
    'Monitor',
    'Model',
    'System theme',
    'Settings of this chat',
    'Edit the message',
    'Answer again',
    'Your message',
  ])
    assert.ok(seen.has(name), `${name} is not reached`);
  await page.getByRole('link', { name: 'Model' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('tab', { name: 'curl' }).focus();
  await page.keyboard.press('ArrowRight');
  await page.locator('#snippet').getByText('from openai import OpenAI').waitFor();
  await page.keyboard.press('Control+k');
  await page.locator('.welcome').waitFor();
  await composing(page);
  await page.keyboard.type('x');
  assert.equal(await composer(page).inputValue(), 'x');
  await page.done();
});

test('the monitor shows slots, rates and memory', async () => {
  const page = await open({}, { path: '/#/monitor' });
  await page.getByText('Reading 11,264 of 18,400 tokens, 6,144 of them cached').waitFor();
  await page.locator('.plot-line').first().waitFor();
  assert.equal(await page.locator('.plot').count(), 4);
  assert.match(await page.locator('.tile').nth(3).innerText(), /Queue\s+1\s+of 64/);
  assert.match(await page.locator('.legend').first().innerText(), /Weights[^]*17.3 GiB[^]*KV/);
  await page.done();
});
