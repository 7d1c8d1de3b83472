package holds

// A Telling is how far the observer of a hold knows of it. The observer is told of each hold twice: that it was acquired,
// and how it ended. Of the ends that come together, when a lost hold is unlocked for example, it is told the first. The
// mutex of the hold guards it.
type Telling uint8

const (
	untold Telling = iota
	acquired
	ended
)

// Acquired notes that the observer has been told of the acquisition.
func (t *Telling) Acquired() { *t = acquired }

// End reports whether the observer is to be told of the end, and notes that it has been.
func (t *Telling) End() bool {
	due := *t == acquired
	if due {
		*t = ended
	}
	return due
}
