package holds

// Begin forgets which holds the program had.
func Begin() {
	begun.Store(0)
	wanted.Store(false)
}
