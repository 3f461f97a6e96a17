// The style sheets of what is seen first, in the order in which they apply; those of parts.ts follow them.

import { barStyles } from '../views/bar.js';
import { headlineStyles } from '../views/headline.js';
import { noticeStyles } from '../views/notices.js';
import { pickerStyles } from '../views/picker_styles.js';
import { toolbarStyles } from '../views/toolbar.js';
import { base } from './base.js';
import { tokens } from './tokens.js';

export const calculatorStyles = [tokens, base, barStyles, headlineStyles, pickerStyles, noticeStyles, toolbarStyles];
