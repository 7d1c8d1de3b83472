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
	top := 0.0
	height := 64 // title and subtitle
	for _, g := range c.groups {
		height += 30 + barStep*len(g.bars)
		for _, b := range g.bars {
			top = max(top, b.value, b.high, c.mark)
		}
	}
	height += 2 * margin
	step := nice(top / 8)
	scale := func(v float64) float64 {
		return barLeft + min(v, top)/(step*math.Ceil(top/step))*(barRight-barLeft)
	}
	w.line(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`, width, height, width, height)
	w.line("<title>%s</title>", html.EscapeString(c.title))
	w.line("%s", style)
	w.line(`<rect class="ground" x=".5" y=".5" width="%d" height="%d" rx="6"/>`, width-1, height-1)
	w.words(margin, 30, "title", c.title)
	w.words(margin, 50, "minor", c.subtitle)
	bottom := height - margin - 4
	for i := 0; float64(i)*step <= step*math.Ceil(top/step)+step/2; i++ {
		x := barLeft + float64(i)*step/(step*math.Ceil(top/step))*(barRight-barLeft)
		w.line(`<line class="grid" x1="%.1f" x2="%.1f" y1="64" y2="%d"/>`, x, x, bottom-8)
		w.line(`<text class="axis" x="%.1f" y="%d" text-anchor="middle">%g</text>`, x, bottom+6, math.Round(float64(i)*step*1e6)/1e6)
	}
	if c.mark > 0 {
		w.line(`<line class="mark" x1="%.1f" x2="%.1f" y1="64" y2="%d"/>`, scale(c.mark), scale(c.mark), bottom-8)
	}
	y := 64
	for _, g := range c.groups {
		y += 22
		w.words(margin, y, "group", g.title)
		y += 8
		for _, b := range g.bars {
			c.bar(&w, b, y, scale)
			y += barStep
		}
	}
	w.line("</svg>")
	return w.String()
}

func (c chart) bar(w *text, b bar, y int, scale func(float64) float64) {
	class, weight := b.class, ""
	if b.hatched {
		class += " hatched"
	}
	if b.class == "ours" {
		weight = "strong"
	}
	base := y + barHeight - 3
	w.line(`<text class="%s" x="%d" y="%d" text-anchor="end">%s</text>`, weight, barLeft-8, base, html.EscapeString(b.label))
	w.line(`<rect class="%s" x="%d" y="%d" width="%.1f" height="%d" rx="1.5"/>`, class, barLeft, y, max(scale(b.value)-barLeft, 1), barHeight)
	if b.high > b.low {
		middle := float64(y) + barHeight/2
		w.line(`<line class="spread" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, scale(b.low), scale(b.high), middle, middle)
	}
	w.words(int(max(scale(b.value), scale(b.high)))+8, base, "value "+weight, b.text)
}

func (t *text) words(x, y int, class, words string) {
	t.line(`<text class="%s" x="%d" y="%d">%s</text>`, strings.TrimSpace(class), x, y, html.EscapeString(words))
}

// nice is the next of 1, 2, 5 times a power of ten.
func nice(step float64) float64 {
	if step <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(step)))
	for _, times := range []float64{1, 2, 5} {
		if times*power >= step*(1-1e-9) {
			return times * power
		}
	}
	return 10 * power
}

func short(v float64) string { return fmt.Sprintf("%.2f", v) }
