// Whoever has no mouse: what is pressed may go with what it does, and the focus stays near.
import assert from 'node:assert/strict';
import { openCalculator, pageTest, settled } from './chromium.js';

const focused = async page => {
  await settled(page);
  return page.evaluate(() => {
    let at = document.activeElement;
    while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
    return at.getAttribute('aria-label') ?? (at.id || at.textContent.trim());
  });
};
const press = async (page, button) => {
  await button.focus();
  await page.keyboard.press('Enter');
};
const slow = { timeout: 60_000 };

pageTest('what would make it fit, applied: Undo has the focus, then Redo', {}, async page => {
  await openCalculator(page);
  const apply = page.locator('.remedy').getByRole('button', { name: /^Apply/ });
  await apply.waitFor(slow);
  await press(page, apply);
  assert.equal(await focused(page), 'Undo');
  await page.keyboard.press('Enter');
  assert.equal(await focused(page), 'Redo');
});

pageTest('a field that goes back to its preset has the focus, and so has a list whose changes go', {}, async page => {
  await openCalculator(page);
  const field = page.getByLabel('Micro-batch size', { exact: true });
  await field.fill('3');
  await settled(page);
  await press(page, page.getByRole('button', { name: 'Reset Micro-batch size' }));
  assert.equal(await focused(page), 'field-recipe-micro_batch_size');
  await field.fill('3');
  await settled(page);
  await press(page, page.getByRole('button', { name: /1 change, reset/ }));
  assert.equal(await focused(page), 'picker-recipe');
});

pageTest('Compare can be pressed and let go, from its panel too', {}, async page => {
  await openCalculator(page);
  const compare = page.getByRole('button', { name: 'Compare', exact: true });
  await press(page, compare);
  await page.locator('#compare').waitFor();
  assert.equal(await compare.getAttribute('aria-pressed'), 'true');
  await press(page, page.getByRole('button', { name: 'Stop comparing' }));
  await page.locator('#compare').waitFor({ state: 'detached' });
  assert.equal(await focused(page), 'Compare');
  await page.keyboard.press('Enter');
  await page.locator('#compare').waitFor();
  await page.keyboard.press('Enter');
  await page.locator('#compare').waitFor({ state: 'detached' });
});

pageTest('rows that are shown leave the focus in their table', {}, async page => {
  await openCalculator(page, 'v=1&model=llama3.1-8b&gpu=rtx-4090&end');
  await press(page, page.getByRole('button', { name: /^Show all \d+ rows$/ }).first());
  assert.match(await focused(page), /^Optimizer states/);
});

pageTest('what a column of a sweep applied can be undone in sight of it', {}, async page => {
  await openCalculator(page, 'v=1&model=llama3.2-1b&gpu=rtx-4090&precision=bf16&end');
  await page.locator('#advice[aria-busy=false] .suggestion').first().waitFor(slow);
  await page.locator('#sweeps').scrollIntoViewIfNeeded();
  const column = page.getByRole('button', { name: /^8,192 tokens: / });
  await column.waitFor(slow);
  await press(page, column);
  const undo = page.locator('.done').getByRole('button', { name: 'Undo' });
  await undo.waitFor();
  assert.equal(await focused(page), 'Undo');
  const inSight = async one => {
    const { y, height } = await one.boundingBox();
    return y >= 0 && y + height <= page.viewportSize().height;
  };
  assert.ok(await inSight(undo));
  assert.ok(await inSight(page.locator('#sweeps .axes')));
  await page.keyboard.press('Enter');
  await undo.waitFor({ state: 'detached' });
  assert.equal(await focused(page), 'Sweep one setting');
});
