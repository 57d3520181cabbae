/** Sets how many stand there in the suites that are imported from now on. */
export const setBridgeCount = (count: number): void => {
  process.env.BRIDGES = String(count);
};
