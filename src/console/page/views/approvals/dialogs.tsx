import { useSignal } from '@preact/signals';
import { ANSWER_REASON_CHARS } from '../../../protocol.ts';
import { Button, SteadyButton } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { SafeLine, SafeText } from '../../parts/safe-text.tsx';
import { isOpen, type ShownApproval } from '../../state/approvals.ts';
import { texts } from '../../texts.ts';
import { lateSentence } from './outcome.ts';

type DecisionDialogProps = {
  readonly shown: ShownApproval;
  readonly isBusy: boolean;
  readonly onClose: () => void;
};

const canDecide = ({ ended, missing }: ShownApproval): boolean => ended === undefined && missing === undefined;

/** Somebody else may decide while the dialog is open: it says so, and its button does nothing any more. */
const EndedNotice = ({ shown }: { readonly shown: ShownApproval }) =>
  canDecide(shown) ? null : (
    <p class="notice" role="alert">
      {isOpen(shown) ? texts.approvals.agentAway : lateSentence(shown.ended)}
    </p>
  );

const Tool = ({ shown: { approval } }: { readonly shown: ShownApproval }) => (
  <p>
    <code>
      <SafeLine text={approval.tool} limit={160} />
    </code>
  </p>
);

/** Says what `always` covers before it is confirmed. */
export const AlwaysDialog = ({
  shown,
  isBusy,
  onClose,
  onConfirm,
}: DecisionDialogProps & { readonly onConfirm: () => void }) => (
  <Dialog title={texts.approvals.alwaysTitle} onClose={onClose}>
    <Tool shown={shown} />
    <EndedNotice shown={shown} />
    <p class="notice bad">{texts.approvals.alwaysIntro}</p>
    <ul class="covers">
      {shown.approval.always.map((covered) => (
        <li key={covered}>
          <SafeText text={covered} foldedChars={20_000} />
        </li>
      ))}
    </ul>
    <p class="muted">{texts.approvals.alwaysOthers}</p>
    <footer class="dialog-actions">
      <Button onClick={onClose}>{texts.common.cancel}</Button>
      <SteadyButton kind="danger" isBusy={isBusy} isDisabled={!canDecide(shown)} onClick={onConfirm}>
        {texts.approvals.alwaysConfirm}
      </SteadyButton>
    </footer>
  </Dialog>
);

/** Asks for a reason, which the model reads. */
export const RejectDialog = ({
  shown,
  isBusy,
  onClose,
  onConfirm,
}: DecisionDialogProps & { readonly onConfirm: (reason: string | undefined) => void }) => {
  const reason = useSignal('');
  const confirm = (): void => onConfirm(reason.value.trim() === '' ? undefined : reason.value.trim());
  return (
    <Dialog title={texts.approvals.rejectTitle} onClose={onClose}>
      <Tool shown={shown} />
      <EndedNotice shown={shown} />
      <label class="field">
        <span>{texts.approvals.rejectReason}</span>
        <textarea
          data-first-focus
          rows={3}
          maxLength={ANSWER_REASON_CHARS}
          aria-describedby="reject-hint"
          value={reason}
          onInput={(event) => {
            reason.value = event.currentTarget.value;
          }}
        />
      </label>
      <p id="reject-hint" class="muted">
        {texts.approvals.rejectHint}
      </p>
      <footer class="dialog-actions">
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <SteadyButton kind="danger" isBusy={isBusy} isDisabled={!canDecide(shown)} onClick={confirm}>
          {texts.approvals.rejectConfirm}
        </SteadyButton>
      </footer>
    </Dialog>
  );
};
