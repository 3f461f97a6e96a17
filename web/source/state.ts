// The one state object of a calculator, and everything that can change it.
//
// One direction: controls call actions, an action changes the configuration, the engine answers, views are drawn from
// the state. While a configuration has issues the last good answer stays, and the issues stand beside it.

import type { Config, Engine, Issue, Preset, Scalar, SectionName } from './border.js';
import type { State } from './calculator_state.js';
import { changed, leaves, lookUp, parts } from './config_paths.js';
import defaults from './default_config.json';
import { corrected } from './suggestions.js';

export type Change = 'edit' | 'choice' | 'view' | 'opened' | 'engine';

export const defaultConfig: Config = defaults;

const presetLists = { model: 'models', gpu: 'gpus', recipe: 'recipes' } as const;

export class Calculator {
  readonly state: State = {
    config: defaultConfig,
    issues: [],
    notice: [],
    drafts: new Map(),
    edited: new Set(),
    units: 'GiB',
    timeline: 'phase',
    link: '',
    goodPresets: {},
    subject: 'This model',
  };

  private waiting = false;
  /** Actions that wait for the next paint. */
  private queue: (() => void)[] = [];
  /** What the last good answer is about. */
  answered: Config | undefined;
  /** Did the reader, a link or an attribute say which model or GPU? Else a recipe brings its own. */
  settled = false;
  /** The link that was opened. */
  private opened = '';

  /**
   * `later` runs work after the next paint. An edit is answered there, so that what is typed shows at once and several
   * edits in one frame cost one estimate.
   */
  constructor(
    readonly changed: (change: Change) => void,
    private readonly later?: (work: () => void) => void,
  ) {}

  /** The engine has arrived: everything is computed for the first time, or again. */
  start(engine: Engine): void {
    this.state.engine = engine;
    delete this.state.failure;
    this.compute();
    this.changed('engine');
  }

  fail(reason: string): void {
    this.waiting = false;
    this.state.failure = reason;
    this.changed('engine');
  }

  /** Opens a link; what it does not say falls back to `base`. Problems are kept as a notice. */
  open(link: string, base: Config = defaultConfig): void {
    const { state } = this;
    delete state.failure;
    state.drafts.clear();
    state.notice = [];
    delete state.remark;
    state.config = base;
    this.opened = link;
    this.settled = link !== '' || base !== defaultConfig;
    if (link !== '' && state.engine) {
      const answer = state.engine.readLink(link);
      if (!answer.ok) state.notice = answer.issues;
      // A section of which nothing could be read stays that of the base; the notice says so.
      const read = Object.entries(answer.config ?? {}).filter(([, section]) => Object.keys(section).length > 0);
      state.config = { ...base, ...Object.fromEntries(read) };
    }
    this.compute();
    this.changed('opened');
  }

  setConfig(config: Config, change: Change = 'opened'): void {
    this.state.config = config;
    this.state.drafts.clear();
    delete this.state.remark;
    if (config !== this.answered || this.stale) this.compute();
    this.changed(change);
  }

  /** Does what needs more than recorded answers, once the engine has come. */
  withEngine(action: () => void): void {
    const finished = this.state.engine?.finish?.();
    if (!finished) {
      action();
      return;
    }
    this.waiting = true;
    this.changed('view');
    finished.then(action).catch(reason => this.fail(String(reason)));
  }

  /** Does what takes long after the paint that shows that the reader was heard: what was pressed shows it by itself. */
  afterPaint(action: () => void): void {
    if (!this.later) {
      action();
      return;
    }
    this.queue.push(action);
    this.later(() => this.queue.shift()?.());
  }

  /** Goes on to a configuration that can be computed, and offers the way back. */
  applyWithUndo(config: Config, words: string): void {
    this.afterPaint(() => {
      const before = this.state.config;
      this.setConfig(config, 'choice');
      this.state.remark = { text: `Applied: ${words}.`, action: 'Undo', config: { gpu: {}, recipe: {}, ...before } };
      this.changed('view');
    });
  }

  /** In what the opened link says, `word` takes the place of the one that the issue complains of. */
  correctWord(issue: Issue, word: string): void {
    const { engine, config, notice } = this.state;
    const mended = corrected(engine!, config, this.opened, issue, word);
    this.replaceConfig(mended.config, [...notice.filter(one => one !== issue), ...mended.issues]);
  }

  /** A configuration from elsewhere, as one choice: Back returns to what was there. */
  replaceConfig(config: Config, notice: Issue[] = []): void {
    this.afterPaint(() => {
      this.settled = true;
      this.state.config = config;
      this.state.drafts.clear();
      this.state.notice = notice;
      delete this.state.remark;
      this.compute();
      this.changed('choice');
    });
  }

  /** The field itself shows it already, `typed` until it is left; all else is drawn with the answer. */
  set(path: string, value: Scalar, typed?: string): void {
    this.settled ||= !path.startsWith('/recipe/');
    this.state.drafts.delete(path);
    if (typed) this.state.drafts.set(path, { text: typed, message: '' });
    this.state.config = changed(this.state.config, path, value);
    delete this.state.remark;
    this.edited();
  }

  /** Back to what the preset says. */
  reset(path: string): void {
    this.state.drafts.delete(path);
    this.state.config = changed(this.state.config, path, undefined);
    this.edited();
  }

  resetSection(section: SectionName): void {
    this.afterPaint(() => {
      const { [section]: before, ...others } = this.state.config;
      this.state.config = before?.preset ? { ...others, [section]: { preset: before.preset } } : others;
      for (const path of [...this.state.drafts.keys()])
        if (path.startsWith(`/${section}/`)) this.state.drafts.delete(path);
      this.compute();
      this.changed('choice');
    });
  }

  /** Text that is not a value: the last good value stays in force. */
  setDraft(path: string, text: string, message: string): void {
    this.state.drafts.set(path, { text, message });
    this.redraw();
  }

  dropDraft(path: string): void {
    if (this.state.drafts.delete(path)) this.redraw();
  }

  /** Something that a view holds has changed. */
  redraw(): void {
    this.afterPaint(() => this.changed('view'));
  }

  /** The switch itself shows at once; all that it changes is drawn after that paint. */
  setView(view: Partial<Pick<State, 'units' | 'timeline'>>): void {
    this.afterPaint(() => {
      Object.assign(this.state, view);
      this.changed('view');
    });
  }

  /** A problem with what was given to open, in the reader's words. */
  addNotice(message: string, hint: string): void {
    this.state.notice = [...this.state.notice, { code: 'wrong_input', path: '', message, hint }];
    this.changed('view');
  }

  dismissNotices(): void {
    this.state.notice = [];
    delete this.state.remark;
    this.redraw();
  }

  /** What a field holds: the reader's own value, else what the engine resolved. */
  value(path: string): Scalar | undefined {
    const [section, ...names] = parts(path);
    const { config, good, refused, goodPresets, engine } = this.state;
    const own = lookUp(config[section], names);
    if (own !== undefined) return own;
    const preset = config[section]?.preset ?? '';
    const resolved = refused ?? (goodPresets[section] === preset ? good?.config : undefined);
    if (resolved) return lookUp(resolved[section], names);
    return engine?.presets.fields.find(field => field.path === path)?.default;
  }

  preset(section: SectionName): Preset | undefined {
    const id = this.state.config[section]?.preset;
    return this.state.engine?.presets[presetLists[section]].find(preset => preset.id === id);
  }

  issuesAt(path: string): Issue[] {
    return this.state.issues.filter(issue => issue.path === path);
  }

  /** Does the answer on display belong to another configuration than the one in the fields? */
  get stale(): boolean {
    const { issues, failure, config } = this.state;
    return issues.length > 0 || (failure !== undefined && config !== this.answered);
  }

  /** Does the answer wait for the engine to be fetched? */
  get fetching(): boolean {
    return this.waiting && this.state.engine?.finish !== undefined;
  }

  private modelName(): string {
    const preset = this.preset('model');
    if (!preset) return 'This model';
    return this.editsIn('model') > 0 ? `${preset.name} (edited)` : preset.name;
  }

  editsIn(section: SectionName): number {
    return [...this.state.edited].filter(path => path.startsWith(`/${section}/`)).length;
  }

  /** Is an answer still to come? */
  get busy(): boolean {
    return this.waiting || this.queue.length > 0;
  }

  private edited(): void {
    const answer = () => {
      this.compute();
      this.changed('edit');
    };
    if (!this.later) {
      answer();
      return;
    }
    if (!this.waiting) this.later(answer);
    this.waiting = true;
    if (this.fetching) this.changed('view');
  }

  /** Asks for the answer to the configuration. Who calls it says what has changed. */
  compute(again = true): void {
    const { state } = this;
    if (!state.engine) return;
    this.waiting = false;
    try {
      const answer = state.engine.estimate(state.config);
      delete state.failure;
      if (answer.ok) {
        state.good = answer;
        this.answered = state.config;
        state.link = answer.link;
        state.goodPresets = {};
        for (const section of ['model', 'gpu', 'recipe'] as const) {
          state.goodPresets[section] = state.config[section]?.preset ?? '';
        }
        state.issues = [];
        delete state.refused;
        const link = state.engine.readLink(answer.link);
        state.edited = leaves((link.ok && link.config) || state.config);
        state.subject = this.modelName();
      } else {
        state.issues = answer.issues;
        state.refused = answer.config;
        state.edited = leaves(state.config);
        const written = state.engine.writeLink(state.config);
        if (written.ok) state.link = written.link;
      }
    } catch (error) {
      const { ready, awaited } = error as { ready?: Promise<void>; awaited?: boolean };
      this.waiting = awaited === true;
      if (!awaited) state.failure = error instanceof Error ? error.message : String(error);
      const askAgain = () => {
        this.compute(false);
        this.changed('engine');
      };
      if (again) ready?.then(askAgain, reason => this.fail(String(reason)));
    }
  }

  /** What the remark offers. */
  acceptRemark(): void {
    this.afterPaint(() => {
      const { remark } = this.state;
      if (!remark?.config) return;
      this.settled = true;
      this.state.config = { ...this.state.config, ...remark.config };
      delete this.state.remark;
      this.compute();
      this.changed('choice');
    });
  }
}
