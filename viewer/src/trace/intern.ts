// Gives each different text a number, looking at its bytes so that only new texts are decoded.

const decoder = new TextDecoder();

export class Interner {
  words: string[] = [];
  private byText = new Map<string, number>();
  private slots = new Int32Array(1024).fill(-1);
  private hashes = new Int32Array(512);
  private kept: Uint8Array[] = [];

  bytes(data: Uint8Array, from: number, to: number): number {
    let hash = 0x811c9dc5 ^ (to - from);
    for (let i = from; i < to; i++) hash = Math.imul(hash ^ data[i]!, 0x01000193);
    hash ^= hash >>> 15;
    const mask = this.slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const code = this.slots[slot]!;
      if (code < 0) return this.insert(data.slice(from, to), hash, slot);
      if (this.hashes[code] === hash && this.same(code, data, from, to)) return code;
    }
  }

  text(value: string): number {
    let code = this.byText.get(value);
    if (code === undefined) {
      code = this.words.push(value) - 1;
      this.kept.push(new Uint8Array(0));
      this.byText.set(value, code);
    }
    return code;
  }

  private same(code: number, data: Uint8Array, from: number, to: number): boolean {
    const kept = this.kept[code]!;
    if (kept.length !== to - from) return false;
    for (let i = 0; i < kept.length; i++) if (kept[i] !== data[from + i]) return false;
    return true;
  }

  private insert(bytes: Uint8Array, hash: number, slot: number): number {
    const code = this.words.push(decoder.decode(bytes)) - 1;
    this.kept.push(bytes);
    if (code >= this.hashes.length) {
      const more = new Int32Array(this.hashes.length * 2);
      more.set(this.hashes);
      this.hashes = more;
    }
    this.hashes[code] = hash;
    this.slots[slot] = code;
    if (this.words.length * 2 > this.slots.length) this.rehash();
    return code;
  }

  private rehash(): void {
    this.slots = new Int32Array(this.slots.length * 2).fill(-1);
    const mask = this.slots.length - 1;
    for (let code = 0; code < this.words.length; code++) {
      let slot = this.hashes[code]! & mask;
      while (this.slots[slot]! >= 0) slot = (slot + 1) & mask;
      this.slots[slot] = code;
    }
  }
}
