import { dismissToast, toasts } from '../state/toasts.ts';
import { texts } from '../texts.ts';
import { Icon } from './icon.tsx';

/** Where notices appear. It is always there, so that screen readers hear of what is put into it. */
export const Toaster = () => (
  <div class="toaster" role="status" aria-live="polite">
    {toasts.value.map(({ id, text, tone }) => (
      <div key={id} class={`toast ${tone}`}>
        <span>{text}</span>
        <button
          type="button"
          class="button quiet icon-only small"
          aria-label={texts.common.dismiss}
          onClick={() => dismissToast(id)}
        >
          <Icon name="close" />
        </button>
      </div>
    ))}
  </div>
);
