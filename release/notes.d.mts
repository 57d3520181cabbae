export const sectionOf: (changelog: string, version: string) => string | undefined;
