import type { ComponentChildren } from 'preact';

type PageHeadProps = {
  readonly title: ComponentChildren;
  readonly intro?: string;
  readonly children?: ComponentChildren;
};

/** The head of a view: its name, a sentence, and what can be done with the whole of it. */
export const PageHead = ({ title, intro, children }: PageHeadProps) => (
  <header class="page-head">
    <div>
      <h1 id="page-title" tabIndex={-1}>
        {title}
      </h1>
      {intro === undefined ? null : <p class="muted">{intro}</p>}
    </div>
    {children === undefined ? null : <div class="page-actions">{children}</div>}
  </header>
);
