package fleet

// WalkAtMost is an option: the number of keys up to which List walks unasked.
func WalkAtMost(n int64) Option { return func(o *options) { o.most = n } }
