// Copies text. From file:// the clipboard may be closed to pages, so a selected text field is the second way.

export async function copyText(text: string, button: HTMLElement): Promise<void> {
  const label = button.textContent;
  let done = false;
  try {
    await navigator.clipboard.writeText(text);
    done = true;
  } catch {
    const field = document.createElement('textarea');
    field.value = text;
    document.body.append(field);
    field.select();
    done = document.execCommand('copy');
    field.remove();
  }
  button.textContent = done ? 'Copied' : 'Not allowed';
  setTimeout(() => (button.textContent = label), 1200);
}
