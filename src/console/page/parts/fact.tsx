import type { ComponentChildren } from 'preact';

/** A fact with its name, in a list of them. */
export const Fact = ({ name, children }: { readonly name: string; readonly children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);
