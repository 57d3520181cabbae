import { useEffect } from 'preact/hooks';
import { Failure, Loading } from '../parts/states.tsx';
import { Toaster } from '../parts/toaster.tsx';
import { startAttention } from '../state/attention.ts';
import { createResource } from '../state/resource.ts';
import { useResource } from '../state/resource-hook.ts';
import { loadMe, me, visitor } from '../state/visitor.ts';
import { Frame } from './frame.tsx';
import { Login } from './login.tsx';

const start = createResource(() => loadMe());

const Content = () => {
  if (me.value === undefined)
    return (
      <main class="alone">
        {start.failure.value === undefined ? (
          <Loading />
        ) : (
          <Failure failure={start.failure.value} onRetry={() => void start.load()} />
        )}
      </main>
    );
  return visitor.value === null ? <Login /> : <Frame />;
};

/** The whole page: the login, or the frame with a view. */
export const App = () => {
  useResource(start);
  useEffect(startAttention, []);
  return (
    <>
      <Content />
      <Toaster />
    </>
  );
};
