// One way to move around on every canvas: drag with a mouse or a finger, pinch with two fingers, click or tap to pick.

export interface Gestures {
  /** Moved by so many pixels. */
  pan(dx: number, dy: number): void;
  /** Two fingers apart by this factor, around a place on the canvas. */
  pinch(factor: number, x: number, y: number): void;
  tap(event: PointerEvent): void;
  /** Moved without a button; `null` when a drag begins. */
  hover?(event: PointerEvent | null): void;
  /** A drag with Shift selects; return false to let it pan. */
  sweep?: { start(x: number): boolean; move(x: number): void; end(): void };
}

/** Less than this is a click. */
const SLACK = 4;

export function follow(canvas: HTMLCanvasElement, gestures: Gestures): void {
  const pointers = new Map<number, { x: number; y: number }>();
  let [moved, sweeping] = [false, false];
  const place = (event: MouseEvent) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const spread = () => {
    const [a, b] = [...pointers.values()] as [{ x: number; y: number }, { x: number; y: number }];
    return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, wide: Math.max(8, Math.hypot(a.x - b.x, a.y - b.y)) };
  };
  canvas.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, place(event));
    moved = pointers.size > 1;
    sweeping = pointers.size === 1 && event.shiftKey && !!gestures.sweep?.start(place(event).x);
  });
  canvas.addEventListener('pointermove', (event) => {
    const known = pointers.get(event.pointerId);
    if (!known) return gestures.hover?.(event);
    const now = place(event);
    if (pointers.size === 1) {
      if (!moved && Math.hypot(now.x - known.x, now.y - known.y) < SLACK) return;
      if (!moved) gestures.hover?.(null);
      moved = true;
      canvas.classList.add('moving');
      if (sweeping) gestures.sweep!.move(now.x);
      else gestures.pan(now.x - known.x, now.y - known.y);
      pointers.set(event.pointerId, now);
      return;
    }
    const before = spread();
    pointers.set(event.pointerId, now);
    const after = spread();
    gestures.pan(after.x - before.x, after.y - before.y);
    gestures.pinch(after.wide / before.wide, after.x, after.y);
  });
  const end = (event: PointerEvent) => {
    if (!pointers.delete(event.pointerId) || pointers.size > 0) return;
    canvas.classList.remove('moving');
    if (sweeping) gestures.sweep!.end();
    else if (!moved && event.type === 'pointerup') gestures.tap(event);
    sweeping = false;
  };
  canvas.addEventListener('pointerup', end);
  canvas.addEventListener('pointercancel', end);
}
