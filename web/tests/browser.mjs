// The system's Chromium, with pages that fail a test when anything is logged as an error or blocked by the policy.
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';

export const desktop = { width: 1280, height: 800 };
export const phone = { width: 390, height: 844 };

export async function startBrowser() {
  return chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
}

/// `tolerated`: what may be logged, besides nothing.
export async function openPage(browser, address, { path = '', context: options = {}, tolerated = /^$/ } = {}) {
  const context = await browser.newContext({ viewport: desktop, locale: 'en-GB', ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000); // CI machines can be slow
  page.problems = [];
  page.on('pageerror', (error) => page.problems.push(String(error)));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()) && !tolerated.test(message.text())) page.problems.push(message.text());
  });
  page.done = async () => {
    await context.close();
    assert.deepEqual(page.problems, []);
  };
  await page.goto(address + path);
  return page;
}

/** Waits until what is typed goes into the message: the focus follows the page by a frame. */
export const composing = (page) => page.waitForFunction(() => document.activeElement?.id === 'composer-text');
export const composer = (page) => page.getByLabel('Your message');

export async function say(page, text) {
  await composer(page).fill(text);
  await composer(page).press('Enter');
}

/// Until no answer is being written any more.
export async function settle(page) {
  await page.getByRole('button', { name: 'Send (Enter)' }).waitFor();
}

export const lastAnswer = (page) => page.locator('.message.assistant').last();
