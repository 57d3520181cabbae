const CONVERSATION = 'gatehouse.conversation';

/** A browser that keeps nothing for the page throws. */
const attempt = <Value>(work: () => Value): Value | undefined => {
  try {
    return work();
  } catch {
    return undefined;
  }
};

/** The id of the chat that this tab shows. It outlives a reload of the page, and nothing else of the chat does. */
export const rememberedConversation = (): string | undefined =>
  attempt(() => sessionStorage.getItem(CONVERSATION)) ?? undefined;

export const rememberConversation = (id: string): void => attempt(() => sessionStorage.setItem(CONVERSATION, id));

/** With the chat, or with the account that it belongs to. */
export const forgetConversation = (): void => attempt(() => sessionStorage.removeItem(CONVERSATION));
