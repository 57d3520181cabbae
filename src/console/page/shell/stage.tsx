import { Component, type ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Empty } from '../parts/states.tsx';
import { path } from '../state/route.ts';
import { missingPart } from '../state/visitor.ts';
import { texts } from '../texts.ts';
import type { View } from '../views/views.ts';

type BoundaryProps = { readonly children: ComponentChildren };

/** A fault of one view leaves the frame as it is. */
class Boundary extends Component<BoundaryProps, { readonly hasFailed: boolean }> {
  static override getDerivedStateFromError() {
    return { hasFailed: true };
  }

  override state = { hasFailed: false };

  override render({ children }: BoundaryProps) {
    if (!this.state.hasFailed) return children;
    return (
      <div class="state failure" role="alert">
        <p>{texts.states.crashed}</p>
        <Button onClick={() => location.reload()}>{texts.states.reload}</Button>
      </div>
    );
  }
}

const NotSetUp = ({ view, sentence }: { readonly view: View; readonly sentence: string }) => (
  <>
    <PageHead title={view.name} />
    <Empty title={view.part === undefined ? view.name : texts.parts[view.part]} hint={sentence} />
  </>
);

const NoPage = () => (
  <>
    <PageHead title={texts.states.noPage} />
    <Empty title={texts.states.noPageHint}>
      <a href="/">{texts.states.toApprovals}</a>
    </Empty>
  </>
);

const Shown = ({ view }: { readonly view: View | undefined }) => {
  if (view === undefined) return <NoPage />;
  const missing = view.part === undefined ? undefined : missingPart(view.part);
  if (missing !== undefined) return <NotSetUp view={view} sentence={missing} />;
  const { component: Content } = view;
  return <Content />;
};

/** The place of the view. After a change of the page the focus goes to its title, so that a screen reader reads on there. */
export const Stage = ({ view }: { readonly view: View | undefined }) => {
  const isFirst = useRef(true);
  const at = path.value;
  useEffect(() => {
    if (!isFirst.current) document.getElementById('page-title')?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [at]);
  return (
    <div class="stage">
      <Boundary key={view?.piece ?? 'none'}>
        <Shown view={view} />
      </Boundary>
    </div>
  );
};
