/* Why an HDF5 call failed. */
#ifndef HDF5_REASON_H
#define HDF5_REASON_H

/* From now on HDF5 prints nothing about failures; the innermost reason of the first is kept. HDF5
 * forgets it itself at the next call, be that one that cleans up. */
void hdf5_keep_reasons(void);

/* The one kept, until the next call; it is then forgotten. */
const char *hdf5_reason(void);

#endif
