// A table that draws only the rows in sight, sorts by any column, is driven by the keyboard and can be copied.

import { copyText } from './copy';

export interface Column {
  title: string;
  /** What the column means, shown on hover. */
  hint?: string;
  /** The text of a cell; always shown as text, never as markup. */
  text(row: number): string;
  /** What to sort by, the text if absent. */
  key?(row: number): number;
  /** Numbers stand right. */
  right?: boolean;
  /** Colour of a square before the text. */
  swatch?(row: number): string;
  /** Part of the cell to fill, from 0 to 1. */
  bar?(row: number): number;
  /** Extra class of a cell. */
  mark?(row: number): string;
  /** Where it does not fit, the end is shown rather than the beginning: a path ends in what tells it apart. */
  tail?: boolean;
  /** Relative width. */
  width?: number;
}

const ROW = 26;
/** Browsers stop at some height of an element; beyond this the scroll bar is scaled. */
const MAX_HEIGHT = 8_000_000;

export class DataTable {
  readonly element = document.createElement('section');
  private head = document.createElement('div');
  private scroll = document.createElement('div');
  private inner = document.createElement('div');
  private body = document.createElement('div');
  private caption = document.createElement('span');
  private order: Int32Array = new Int32Array(0);
  private sortBy = -1;
  private descending = true;
  private active = -1;
  private unseen = false;
  private maxRows = Infinity;

  constructor(
    title: string,
    private columns: Column[],
    private onPick: (row: number) => void = () => {},
    options: { sort?: number; descending?: boolean; maxRows?: number; note?: string } = {},
  ) {
    this.sortBy = options.sort ?? -1;
    this.descending = options.descending ?? true;
    this.maxRows = options.maxRows ?? Infinity;
    this.element.className = 'table';
    const bar = document.createElement('header');
    const name = document.createElement('h2');
    name.textContent = title;
    this.caption.className = 'muted';
    const copy = document.createElement('button');
    copy.className = 'quiet copy';
    copy.textContent = 'Copy';
    copy.title = 'Copy all rows as tab-separated text';
    copy.setAttribute('aria-label', `Copy the table ${title}`);
    copy.onclick = () => copyText(this.tsv(), copy);
    bar.append(name, this.caption, copy);
    this.scroll.className = 'table-scroll';
    this.scroll.tabIndex = 0;
    this.scroll.setAttribute('role', 'grid');
    this.scroll.setAttribute('aria-label', title);
    this.head.className = 'table-head';
    this.inner.className = 'table-inner';
    this.body.className = 'table-body';
    this.inner.append(this.body);
    this.scroll.append(this.head, this.inner);
    this.element.append(bar, this.scroll);
    this.scroll.onscroll = () => this.draw();
    this.scroll.onkeydown = (event) => this.key(event);
    new ResizeObserver(() => {
      this.draw();
      if (this.unseen) this.reveal();
    }).observe(this.scroll);
    // The same widths for every row, whatever is in it.
    const widths = columns.map((c) => c.width ?? 1);
    this.element.style.setProperty('--columns', widths.map((w) => `minmax(${w * 5}em, ${w}fr)`).join(' '));
    this.element.style.setProperty('--least', `${widths.reduce((sum, w) => sum + w * 5, 0)}em`);
    this.drawHead();
  }

  /** Shows these rows. */
  set(rows: ArrayLike<number>, caption = ''): this {
    this.order = Int32Array.from(rows);
    this.caption.textContent = caption;
    this.sort();
    return this;
  }

  /** Marks a row and brings it into sight. */
  mark(row: number): void {
    if (row === this.active) return;
    this.active = row;
    this.reveal();
    this.draw();
  }

  private reveal(): void {
    const at = this.active < 0 ? -1 : this.order.indexOf(this.active);
    // Without a size there is nothing to scroll yet.
    this.unseen = this.scroll.clientHeight === 0;
    if (at >= 0 && !this.unseen) {
      const [top, height] = [at * ROW * this.scale(), this.scroll.clientHeight - ROW];
      if (top < this.scroll.scrollTop || top + ROW > this.scroll.scrollTop + height) this.scroll.scrollTop = Math.max(0, top - height / 2);
    }
  }

  tsv(): string {
    const clean = (text: string) => text.replace(/[\t\r\n]+/g, ' ');
    const lines = [this.columns.map((c) => clean(c.title)).join('\t')];
    for (const row of this.order) lines.push(this.columns.map((c) => clean(c.text(row))).join('\t'));
    return `${lines.join('\n')}\n`;
  }

  private scale(): number {
    return Math.min(1, MAX_HEIGHT / Math.max(1, this.order.length * ROW));
  }

  private sort(): void {
    const column = this.columns[this.sortBy];
    if (column) {
      const sign = this.descending ? -1 : 1;
      const key = column.key?.bind(column);
      const by = Uint32Array.from(this.order, (_, i) => i);
      if (key) {
        const keys = Float64Array.from(this.order, (row) => key(row) || 0);
        by.sort((a, b) => sign * (keys[a]! - keys[b]!) || a - b);
      } else {
        const keys = Array.from(this.order, (row) => column.text(row));
        by.sort((a, b) => sign * (keys[a]! < keys[b]! ? -1 : keys[a]! > keys[b]! ? 1 : 0) || a - b);
      }
      const before = this.order;
      this.order = Int32Array.from(by, (i) => before[i]!);
    }
    this.drawHead();
    this.draw();
  }

  private drawHead(): void {
    this.head.replaceChildren(
      ...this.columns.map((column, i) => {
        const button = document.createElement('button');
        button.textContent = column.title;
        button.title = column.hint ?? `Sort by ${column.title}`;
        if (column.right) button.classList.add('right');
        if (i === this.sortBy) {
          button.dataset.sorted = this.descending ? '▾' : '▴';
          button.setAttribute('aria-sort', this.descending ? 'descending' : 'ascending');
        }
        button.onclick = () => {
          this.descending = i === this.sortBy ? !this.descending : !!column.key;
          this.sortBy = i;
          this.sort();
        };
        return button;
      }),
    );
  }

  private draw(): void {
    const visible = Math.min(this.maxRows, this.order.length);
    this.inner.style.height = `${Math.max(ROW, visible * ROW * this.scale())}px`;
    if (visible === 0) {
      const empty = document.createElement('p');
      empty.className = 'muted empty-row';
      empty.textContent = 'Nothing to show.';
      this.body.style.transform = '';
      this.body.replaceChildren(empty);
      return;
    }
    const top = this.scroll.scrollTop;
    const first = Math.max(0, Math.min(visible - 1, Math.floor(top / ROW / this.scale()) - 4));
    const last = Math.min(visible, first + Math.ceil(Math.max(this.scroll.clientHeight, 120) / ROW) + 8);
    this.body.style.transform = `translateY(${first * ROW * this.scale()}px)`;
    const rows: HTMLElement[] = [];
    for (let i = first; i < last; i++) rows.push(this.drawRow(this.order[i]!, i));
    this.body.replaceChildren(...rows);
  }

  private drawRow(row: number, at: number): HTMLElement {
    const line = document.createElement('div');
    line.className = 'table-row';
    line.setAttribute('role', 'row');
    line.setAttribute('aria-rowindex', String(at + 1));
    line.setAttribute('aria-selected', String(row === this.active));
    for (const column of this.columns) {
      const cell = document.createElement('span');
      cell.setAttribute('role', 'gridcell');
      if (column.right) cell.classList.add('right');
      const mark = column.mark?.(row);
      if (mark) cell.classList.add(mark);
      if (column.swatch) {
        const square = document.createElement('i');
        square.className = 'swatch';
        square.style.background = column.swatch(row);
        cell.append(square);
      }
      const text = column.text(row);
      if (column.tail) {
        cell.classList.add('tail');
        const whole = document.createElement('bdi');
        whole.textContent = text;
        cell.append(whole);
      } else cell.append(text);
      cell.title = text;
      if (column.bar) {
        cell.classList.add('bar');
        cell.style.setProperty('--part', `${Math.max(0, Math.min(1, column.bar(row))) * 100}%`);
      }
      line.append(cell);
    }
    line.onclick = () => this.pick(row);
    return line;
  }

  private pick(row: number): void {
    this.mark(row);
    this.onPick(row);
  }

  private key(event: KeyboardEvent): void {
    const page = Math.max(1, Math.floor(this.scroll.clientHeight / ROW) - 2);
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const step = steps[event.key];
    const length = Math.min(this.maxRows, this.order.length);
    if (step === undefined || length === 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    const known = this.order.indexOf(this.active);
    const now = known >= 0 ? known : step > 0 ? -1 : length;
    this.pick(this.order[Math.max(0, Math.min(length - 1, now + step))]!);
  }
}
