import { texts } from '../texts.ts';

/** The sign and name of the product. */
export const Brand = () => (
  <span class="brand">
    <svg viewBox="0 0 16 16" width="20" height="20" aria-hidden="true">
      <rect width="16" height="16" rx="3" />
      <path d="M4 13V6l4-3 4 3v7M8 13V8" />
    </svg>
    {texts.product}
  </span>
);
