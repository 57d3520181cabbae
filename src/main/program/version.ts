import manifest from '../../../package.json' with { type: 'json' };

/** The version of the package. The build puts nothing else of the manifest into a bundle. */
export const VERSION: string = manifest.version;
