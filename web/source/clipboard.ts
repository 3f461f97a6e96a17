// Copies text, also where a frame has no permission for the clipboard.

/** Was it copied? `near` is where text can be selected: beside an open dialog nothing can. */
export async function copyText(text: string, near: Element = document.body): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const box = document.createElement('textarea');
    box.value = text;
    box.readOnly = true;
    box.style.position = 'fixed';
    box.style.opacity = '0';
    near.append(box);
    box.select();
    const copied = document.execCommand('copy');
    box.remove();
    return copied;
  }
}
