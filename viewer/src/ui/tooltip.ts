// One tooltip for all canvases: a title and lines of name and value.

export interface Tip {
  title: string;
  lines: [string, string][];
}

let box: HTMLElement | null = null;

export function showTip(tip: Tip | null, x: number, y: number): void {
  if (!box) {
    box = document.createElement('div');
    box.className = 'tip';
    box.setAttribute('role', 'tooltip');
    document.body.append(box);
  }
  box.hidden = !tip;
  if (!tip) return;
  const title = document.createElement('b');
  title.textContent = tip.title;
  const list = document.createElement('dl');
  for (const [name, value] of tip.lines) {
    if (!value) continue;
    const [dt, dd] = [document.createElement('dt'), document.createElement('dd')];
    dt.textContent = name;
    dd.textContent = value;
    list.append(dt, dd);
  }
  box.replaceChildren(title, list);
  const { width, height } = box.getBoundingClientRect();
  box.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - width - 8))}px`;
  box.style.top = `${y + 18 + height > innerHeight ? Math.max(4, y - height - 12) : y + 18}px`;
}
