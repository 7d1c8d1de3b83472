package errs

// Made is inner, which New gives to all that it makes. Where it is nil the program has used a zero value, and
// that panics with one sentence, which begins with the name of the type.
func Made[T any](inner *T, sentence string) *T {
	if inner == nil {
		Unmade(sentence)
	}
	return inner
}

// Unmade panics with a sentence on what was used and how to make it.
//
//go:noinline
func Unmade(sentence string) { panic("redlatch: " + sentence) }
