const { NODE_COMPILE_CACHE, TEST_THOROUGH } = process.env;
/** A variable for programs that a test starts as TypeScript: compiling them costs more than they do. */
export const COMPILE_CACHE: Readonly<Record<string, string>> =
  NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };
/** The same for bundles, which `npm run test:long` starts without it, as a user does. */
export const BUNDLE_CACHE = TEST_THOROUGH === undefined ? COMPILE_CACHE : {};
// Set by the runner for this process alone.
delete process.env.NODE_COMPILE_CACHE;
