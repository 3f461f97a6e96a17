// Every style sheet of the calculator, in the order in which they apply.

import { barStyles } from '../views/bar.js';
import { controlStyles } from '../views/controls.js';
import { foldStyles } from '../views/fold.js';
import { headlineStyles } from '../views/headline.js';
import { noticeStyles } from '../views/notices.js';
import { fieldStyles } from '../views/number_field.js';
import { pickerStyles } from '../views/picker_styles.js';
import { rowStyles } from '../views/rows.js';
import { sliderStyles } from '../views/slider.js';
import { stageStyles } from '../views/stages.js';
import { timelineStyles } from '../views/timeline.js';
import { toolbarStyles } from '../views/toolbar.js';
import { base } from './base.js';
import { tokens } from './tokens.js';

export const calculatorStyles = [
  tokens,
  base,
  barStyles,
  headlineStyles,
  pickerStyles,
  fieldStyles,
  sliderStyles,
  controlStyles,
  timelineStyles,
  rowStyles,
  foldStyles,
  stageStyles,
  noticeStyles,
  toolbarStyles,
];
