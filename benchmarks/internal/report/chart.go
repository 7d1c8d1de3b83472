package report

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// A chart is groups of horizontal bars on one scale.
type chart struct {
	title, subtitle string
	groups          []group
	mark            float64 // a line: the floor
	log             bool    // every step of the scale is ten times the one before
}

type group struct {
	title string
	bars  []bar
}

type bar struct {
	label     string
	value     float64
	low, high float64 // the spread
	text      string  // behind the bar
	class     string  // ours, peer or reference
	hatched   bool    // does not count
}

// Sizes in pixels. The text is as wide as a viewer's font makes it, so there is room to spare.
const (
	width     = 860
	barLeft   = 210
	barRight  = 640
	barHeight = 14
	barStep   = 20
	margin    = 20
)

// style follows the reader's preference for light or dark, with a ground of its own, so that a viewer that shows a
// picture on another ground than it was asked for does no harm.
const style = `<style>
text{font:12px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;fill:#1f2328}
.title{font-size:16px;font-weight:600}.group{font-weight:600}.minor,.axis{fill:#59636e}.axis{font-size:11px}
.strong{font-weight:600}.value{paint-order:stroke;stroke:#fff;stroke-width:4px}
.ground{fill:#fff;stroke:#d1d9e0}.grid{stroke:#d1d9e0}.mark{stroke:#59636e;stroke-dasharray:4 3}.spread{stroke:#1f2328;stroke-opacity:.55}
.ours{fill:#cf222e;stroke:#cf222e}.peer{fill:#8c959f;stroke:#8c959f}.reference{fill:#d8dee4;stroke:#8c959f}
.hatched{fill-opacity:.18}
@media (prefers-color-scheme:dark){text{fill:#f0f6fc}.minor,.axis{fill:#9198a1}.ground{fill:#0d1117;stroke:#3d444d}
.value{stroke:#0d1117}.grid{stroke:#3d444d}.mark{stroke:#9198a1}.spread{stroke:#f0f6fc}.ours{fill:#f85149;stroke:#f85149}
.peer{fill:#818b98;stroke:#818b98}.reference{fill:#2a313c;stroke:#818b98}}
</style>`

func (c chart) svg() string {
	var w text
	height := 64 // title and subtitle
	for _, g := range c.groups {
		height += 30 + barStep*len(g.bars)
	}
	height += 2 * margin
	a := c.axis()
	w.line(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`, width, height, width, height)
	w.line("<title>%s</title>", html.EscapeString(c.title))
	w.line("%s", style)
	w.line(`<rect class="ground" x=".5" y=".5" width="%d" height="%d" rx="6"/>`, width-1, height-1)
	w.words(margin, 30, "title", c.title)
	w.words(margin, 50, "minor", c.subtitle)
	bottom := height - margin - 4
	for _, tick := range a.ticks {
		w.line(`<line class="grid" x1="%.1f" x2="%.1f" y1="64" y2="%d"/>`, a.x(tick), a.x(tick), bottom-8)
		w.line(`<text class="axis" x="%.1f" y="%d" text-anchor="middle">%g</text>`, a.x(tick), bottom+6, tick)
	}
	if c.mark > 0 {
		w.line(`<line class="mark" x1="%.1f" x2="%.1f" y1="64" y2="%d"/>`, a.x(c.mark), a.x(c.mark), bottom-8)
	}
	y := 64
	for _, g := range c.groups {
		y += 22
		w.words(margin, y, "group", g.title)
		y += 8
		for _, b := range g.bars {
			b.draw(&w, y, a)
			y += barStep
		}
	}
	w.line("</svg>")
	return w.String()
}

func (b bar) draw(w *text, y int, a axis) {
	class, weight := b.class, ""
	if b.hatched {
		class += " hatched"
	}
	if b.class == "ours" {
		weight = "strong"
	}
	base := y + barHeight - 3
	w.line(`<text class="%s" x="%d" y="%d" text-anchor="end">%s</text>`, weight, barLeft-8, base, html.EscapeString(b.label))
	start, end := a.x(a.from), a.x(b.value)
	w.line(`<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d" rx="1.5"/>`, class, min(start, end), y, max(math.Abs(end-start), 1), barHeight)
	if b.high > b.low {
		middle := float64(y) + barHeight/2
		w.line(`<line class="spread" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, a.x(b.low), a.x(b.high), middle, middle)
	}
	w.words(int(max(start, end, a.x(b.high)))+8, base, "value "+weight, b.text)
}

func (t *text) words(x, y int, class, words string) {
	t.line(`<text class="%s" x="%d" y="%d">%s</text>`, strings.TrimSpace(class), x, y, html.EscapeString(words))
}

func short(v float64) string { return fmt.Sprintf("%.2f", v) }
