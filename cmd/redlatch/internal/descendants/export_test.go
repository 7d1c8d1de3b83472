//go:build linux

package descendants

// Between has a function called after each look at the table, until restore is.
func Between(fn func()) (restore func()) {
	look = func() []process {
		all := table()
		fn()
		return all
	}
	return func() { look = table }
}
