import type { PageFiles } from './page-routes.ts';

/** The page as the build has bundled it, which writes it here; undefined in sources. */
export const BUILT_PAGE: PageFiles | undefined = undefined;
