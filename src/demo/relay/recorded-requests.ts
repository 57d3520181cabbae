/** A request as it arrived, whatever became of it. */
export type SeenRequest = {
  readonly method: string;
  /** Path and query as they stood on the wire, where the server in front could tell. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly at: number;
};

const KEPT = 5000;

/** The last few thousand requests, the oldest first. */
export const createSeenRequests = () => {
  const seen: SeenRequest[] = [];
  return {
    add(request: SeenRequest): void {
      seen.push(request);
      if (seen.length > KEPT) seen.shift();
    },
    all: (): readonly SeenRequest[] => [...seen],
    clear(): void {
      seen.length = 0;
    },
  };
};
