/**
 * Headers of which most requests ask a name or two: `find` looks a lower-case name up in what there is already. For everything
 * else full headers are made, which take over.
 */
export abstract class LazyHeaders implements Headers {
  #full: Headers | undefined;

  protected abstract find(name: string): string | undefined;
  protected abstract makeFull(): Headers;

  protected get isFull(): boolean {
    return this.#full !== undefined;
  }
  get #all(): Headers {
    this.#full ??= this.makeFull();
    return this.#full;
  }
  get(name: string): string | null {
    return this.#full === undefined ? (this.find(name.toLowerCase()) ?? null) : this.#full.get(name);
  }
  has(name: string): boolean {
    return this.get(name) !== null;
  }
  set(name: string, value: string): void {
    this.#all.set(name, value);
  }
  append(name: string, value: string): void {
    this.#all.append(name, value);
  }
  delete(name: string): void {
    this.#all.delete(name);
  }
  getSetCookie(): string[] {
    return this.#all.getSetCookie();
  }
  forEach(callback: (value: string, key: string, all: Headers) => void, self?: unknown): void {
    this.#all.forEach(callback, self);
  }
  keys() {
    return this.#all.keys();
  }
  values() {
    return this.#all.values();
  }
  entries() {
    return this.#all.entries();
  }
  [Symbol.iterator]() {
    return this.#all[Symbol.iterator]();
  }
}
