package report

import "math"

// An axis maps values to places in a picture.
type axis struct {
	ticks []float64 // from the left end to the right end
	from  float64   // where bars begin
	log   bool
}

// axis makes an axis that has room for all bars. On a logarithmic axis every tick is ten times the one before, and bars begin
// at the mark, so that a value below the mark has a bar to the left.
func (c chart) axis() axis {
	low, top := math.Inf(1), 0.0
	for _, g := range c.groups {
		for _, b := range g.bars {
			top = max(top, b.value, b.high, c.mark)
			if b.value > 0 {
				low = min(low, b.value)
			}
		}
	}
	if !c.log {
		step := nice(top / 8)
		a := axis{ticks: []float64{0}}
		for i := 1; float64(i-1)*step < top || i == 1; i++ {
			a.ticks = append(a.ticks, math.Round(float64(i)*step*1e6)/1e6)
		}
		return a
	}
	if c.mark > 0 {
		low = min(low, c.mark)
	}
	if math.IsInf(low, 1) { // there is nothing to show
		low, top = 1, 1
	}
	first := int(math.Floor(math.Log10(low) + 1e-9))
	last := max(int(math.Ceil(math.Log10(top)-1e-9)), first+1)
	a := axis{log: true, from: c.mark}
	for power := first; power <= last; power++ {
		a.ticks = append(a.ticks, math.Pow10(power))
	}
	if c.mark <= 0 {
		a.from = a.ticks[0]
	}
	return a
}

// x is the place of a value. A value beyond an end has the place of that end.
func (a axis) x(v float64) float64 {
	left, right := a.ticks[0], a.ticks[len(a.ticks)-1]
	v = min(max(v, left), right)
	part := (v - left) / (right - left)
	if a.log {
		part = math.Log(v/left) / math.Log(right/left)
	}
	return barLeft + part*(barRight-barLeft)
}

// nice is the least 1, 2 or 5 times a power of ten that is not below step.
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
