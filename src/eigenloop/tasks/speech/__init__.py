"""Speech: the utterances of TIMIT, their spectrograms, and the quality of a resynthesis."""
