// Pictures of the three pages with a realistic conversation, for people to look at: node tests/screenshots.mjs FOLDER
import { mkdir } from 'node:fs/promises';
import { desktop, openPage, phone, settle, startBrowser } from './browser.mjs';
import { startMock } from './mock.mjs';

const folder = process.argv[2] ?? '../build/screenshots';
await mkdir(folder, { recursive: true });
const mock = await startMock({ delay: 0, enabled: true });
const browser = await startBrowser();

/// Four minutes of statuses at once.
async function fillHistory(page) {
  const real = Date.now();
  await page.clock.install({ time: real - 250_000 });
  await page.goto(`${mock.address}/#/monitor`);
  for (let i = 0; i < 250; ++i) {
    mock.state.seconds = 4000 + i;
    const answered = page.waitForResponse('**/v1/status');
    await page.clock.runFor(1000);
    await answered;
  }
}

for (const scheme of ['light', 'dark']) {
  for (const [name, viewport] of Object.entries({ desktop, phone })) {
    mock.state.chats.clear();
    const context = {
      viewport,
      colorScheme: scheme,
      ...(name === 'phone' ? { hasTouch: true, isMobile: true, deviceScaleFactor: 2 } : {}),
    };
    const page = await openPage(browser, mock.address, { context });
    const shoot = async (what, options = {}) => page.screenshot({ path: `${folder}/${what}-${scheme}-${name}.png`, ...options });
    const send = async (text) => {
      await page.getByLabel('Your message').fill(text);
      await page.getByRole('button', { name: 'Send (Enter)' }).click();
    };
    await page.locator('.welcome p').nth(2).waitFor();
    await shoot('welcome');
    for (const text of ['Plan a weekend in Lisbon', 'Review of parser.cpp, and what to test first', 'Translate the release notes']) {
      await page.goto(`${mock.address}/#/chat`);
      await page.locator('.welcome').waitFor();
      await send(text);
      await settle(page);
    }
    await page.goto(`${mock.address}/#/chat`);
    await page.locator('.welcome').waitFor();
    await page
      .locator('input[type=file]:not([data-import])')
      .setInputFiles({ name: 'bench.log', mimeType: 'text/plain', buffer: Buffer.from('decode 28.6 tokens/s\n') });
    await send('This is what the benchmark says. What limits the decoding speed, and how can I measure it?');
    await settle(page);
    await page.getByRole('button', { name: 'Answer again' }).click();
    await settle(page);
    await page.waitForTimeout(200);
    await shoot('chat-end');
    await page.locator('.scroller').evaluate((box) => (box.scrollTop = 0));
    await page.waitForTimeout(150);
    await shoot('chat');
    await page.locator('.thinking summary').click();
    await shoot('chat-thinking');
    await send('How is the weather there?');
    await settle(page);
    await page.waitForTimeout(150);
    await shoot('chat-tools');
    await send('This will be broken');
    await settle(page);
    await page.waitForTimeout(150);
    await shoot('chat-error');
    await page.getByRole('button', { name: 'Settings of this chat' }).click();
    await page.waitForTimeout(150);
    await shoot('settings');
    await page.keyboard.press('Escape');
    if (name === 'phone') {
      await page.getByRole('button', { name: 'Menu' }).click();
      await page.waitForTimeout(400);
      await shoot('drawer');
      await page.keyboard.press('Escape');
    }
    await page.goto(`${mock.address}/#/model`);
    await page.locator('.bar').first().waitFor();
    await page.waitForTimeout(150);
    await shoot('model');
    await page.getByRole('tab', { name: 'Claude Code' }).click();
    await page.locator('.scroller').evaluate((box) => (box.scrollTop = box.scrollHeight));
    await page.waitForTimeout(150);
    await shoot('model-connect');
    await fillHistory(page);
    await shoot('monitor');
    await page.locator('.scroller').evaluate((box) => (box.scrollTop = box.scrollHeight));
    await shoot('monitor-end');
    await page.done();
  }
}
await browser.close();
await mock.close();
