// An element that its page has drawn already (pages/first_view.js): what stands there stays until there is something to
// draw in its place.

import { LitElement, type PropertyValues } from 'lit';

export class DrawnBefore extends LitElement {
  private drawn: ChildNode[] = [];

  protected override createRenderRoot(): HTMLElement | DocumentFragment {
    this.drawn = [...(this.shadowRoot?.childNodes ?? [])];
    const root = super.createRenderRoot();
    this.renderOptions.renderBefore = null;
    return root;
  }

  protected override update(properties: PropertyValues): void {
    for (const node of this.drawn.splice(0)) node.remove();
    super.update(properties);
  }
}
