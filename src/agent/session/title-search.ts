/**
 * The form in which titles and what is looked for in them are compared: without case, in both directions, because
 * lower case alone tells one Greek sigma from the other. Holds only what every database can hold.
 */
export const foldTitle = (text: string): string =>
  text.toLowerCase().toUpperCase().toWellFormed().replaceAll('\0', '\ufffd');
