// cli-progress brings no types; this is the part of it that we use.
declare module 'cli-progress' {
  export class SingleBar {
    constructor(options: {
      readonly format: string;
      readonly stream: NodeJS.WritableStream;
      readonly clearOnComplete: boolean;
      readonly barCompleteChar: string;
      readonly barIncompleteChar: string;
    });
    start(total: number, startValue: number, payload: { readonly errors: number }): void;
    update(value: number, payload: { readonly errors: number }): void;
    stop(): void;
  }
}
