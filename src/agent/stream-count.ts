/** How many event streams are open. */
export type StreamCount = {
  readonly open: () => number;
  /** One more, until the returned function is called. */
  readonly begin: () => () => void;
};

export const createStreamCount = (): StreamCount => {
  let open = 0;
  return {
    open: () => open,
    begin() {
      open += 1;
      return () => {
        open -= 1;
      };
    },
  };
};
