// What the panels of views/closed.ts hold. Fetched when the first of them is opened.

import { speed, speedStyles } from '../speed/speed.js';
import { ladder, ladderStyles } from './ladder.js';
import { textbook, textbookStyles } from './textbook.js';

export const bodies = { ladder, speed, textbook };
export const styles = [ladderStyles, textbookStyles, ...speedStyles];
