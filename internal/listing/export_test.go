package listing

// Reports tells whether the client makes reports.
func (l *Listing) Reports() bool { return !l.reporter.Config().Off }
