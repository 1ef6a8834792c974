"""The pages that come with taamctl, and what answers `taamctl explain`: one source for both."""
